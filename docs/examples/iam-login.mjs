// An iam login as a workload does it: sign a caller-identity request, send it to cloud-auth instead of STS.
//   BASE=http://127.0.0.1:8200/v1 ROLE=demo-iam AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… [AWS_SESSION_TOKEN=…] node iam-login.mjs
import { createHash, createHmac } from 'node:crypto'

const { BASE, ROLE, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env
const [host, region, body] = ['sts.amazonaws.com', 'us-east-1', 'Action=GetCallerIdentity&Version=2011-06-15']

const sha256 = text => createHash('sha256').update(text).digest('hex')
const hmac = (key, text) => createHmac('sha256', key).update(text).digest()
const base64 = text => Buffer.from(text).toString('base64')

const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
const headers = {
  host,
  'x-amz-date': time,
  ...(AWS_SESSION_TOKEN ? { 'x-amz-security-token': AWS_SESSION_TOKEN } : {}),
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
const key = [time.slice(0, 8), region, 'sts', 'aws4_request'].reduce(hmac, `AWS4${AWS_SECRET_ACCESS_KEY}`)
const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')).toString('hex')
headers.authorization = `AWS4-HMAC-SHA256 Credential=${AWS_ACCESS_KEY_ID}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`

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
if (!answer.ok) throw new Error(errors.join('; '))
process.stdout.write(
  `${JSON.stringify({ policies: auth.policies, lease_duration: auth.lease_duration, metadata: auth.metadata })}\n`,
)
