// An ec2 login as an instance does it: fetch the signed document from the metadata service, send it with a nonce of
// your own. The instance's first login fixes the nonce. Keep it where only this instance can read it: later logins need it.
//   BASE=http://127.0.0.1:8200/v1 ROLE=demo-ec2 NONCE=… [METADATA=http://169.254.169.254] node ec2-login.mjs
const { BASE, ROLE, NONCE, METADATA = 'http://169.254.169.254' } = process.env

const session = await fetch(`${METADATA}/latest/api/token`, {
  method: 'PUT',
  headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
})
const document = await fetch(`${METADATA}/latest/dynamic/instance-identity/rsa2048`, {
  headers: { 'x-aws-ec2-metadata-token': await session.text() },
})
const answer = await fetch(`${BASE}/auth/cloud/login`, {
  method: 'POST',
  body: JSON.stringify({ role: ROLE, nonce: NONCE, pkcs7: (await document.text()).replaceAll('\n', '') }),
})
const { auth, errors } = await answer.json()
if (answer.ok) {
  const { client_token, policies, lease_duration, metadata } = auth
  process.stdout.write(`${JSON.stringify({ client_token, policies, lease_duration, metadata }, null, 2)}\n`)
} else {
  process.stderr.write(`${errors.join('\n')}\n`)
  process.exitCode = 1
}
