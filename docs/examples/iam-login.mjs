// An iam login as a workload does it: sign a caller-identity request, send it to cloud-auth instead of STS. The keys are
// those of the environment, else of the instance's role, which the metadata service has.
//   BASE=http://127.0.0.1:8200/v1 ROLE=demo-iam [METADATA=http://169.254.169.254] node iam-login.mjs
//   … AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… [AWS_SESSION_TOKEN=…] node iam-login.mjs
import { createHash, createHmac } from 'node:crypto'

const { BASE, ROLE, METADATA = 'http://169.254.169.254', AWS_ACCESS_KEY_ID } = process.env

async function keysOfInstance() {
  const session = await fetch(`${METADATA}/latest/api/token`, {
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
  })
  const headers = { 'x-aws-ec2-metadata-token': await session.text() }
  const path = `${METADATA}/latest/meta-data/iam/security-credentials/`
  const role = await (await fetch(path, { headers })).text()
  return (await fetch(path + role, { headers })).json()
}

const { AccessKeyId, SecretAccessKey, Token } = AWS_ACCESS_KEY_ID
  ? {
      AccessKeyId: AWS_ACCESS_KEY_ID,
      SecretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
      Token: process.env.AWS_SESSION_TOKEN,
    }
  : await keysOfInstance()

const [host, region, body] = ['sts.amazonaws.com', 'us-east-1', 'Action=GetCallerIdentity&Version=2011-06-15']

const sha256 = text => createHash('sha256').update(text).digest('hex')
const hmac = (key, text) => createHmac('sha256', key).update(text).digest()
const base64 = text => Buffer.from(text).toString('base64')

const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
const headers = {
  host,
  'x-amz-date': time,
  ...(Token ? { 'x-amz-security-token': Token } : {}),
}
const names = Object.keys(headers).sort()
const request = [
  'POST',
  '/',
  '',
  ...names.map(name => `${name}:${headers[name]}`),
  '',
  names.join(';'),
  sha256(body),
].join('\n')
const scope = `${time.slice(0, 8)}/${region}/sts/aws4_request`
const key = [time.slice(0, 8), region, 'sts', 'aws4_request'].reduce(hmac, `AWS4${SecretAccessKey}`)
const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')).toString('hex')
headers.authorization = `AWS4-HMAC-SHA256 Credential=${AccessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`

const answer = await fetch(`${BASE}/auth/cloud/login`, {
  method: 'POST',
  body: JSON.stringify({
    role: ROLE,
    iam_http_request_method: 'POST',
    iam_request_url: base64(`https://${host}/`),
    iam_request_body: base64(body),
    iam_request_headers: base64(JSON.stringify(headers)),
  }),
})
const { auth, errors } = await answer.json()
if (answer.ok) {
  const { client_token, policies, lease_duration, metadata } = auth
  process.stdout.write(`${JSON.stringify({ client_token, policies, lease_duration, metadata }, null, 2)}\n`)
} else {
  process.stderr.write(`${errors.join('\n')}\n`)
  process.exitCode = 1
}
