// Would this login succeed, and if not, why? The body of a login, and every check with the value it saw. Without the nonce
// of the instance's first login nothing else succeeds, so it is given here too.
//   BASE=… TOKEN=… ROLE=demo-ec2 NONCE=… METADATA=… node explain.mjs
const { BASE, TOKEN, ROLE, NONCE, METADATA = 'http://169.254.169.254' } = process.env

const session = await fetch(`${METADATA}/latest/api/token`, {
  method: 'PUT',
  headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
})
const document = await fetch(`${METADATA}/latest/dynamic/instance-identity/rsa2048`, {
  headers: { 'x-aws-ec2-metadata-token': await session.text() },
})
const answer = await fetch(`${BASE}/auth/cloud/role/${ROLE}/explain`, {
  method: 'POST',
  headers: { 'x-vault-token': TOKEN },
  body: JSON.stringify({ nonce: NONCE, pkcs7: (await document.text()).replaceAll('\n', '') }),
})
const { data, errors } = await answer.json()
if (answer.ok) {
  process.stdout.write(`would succeed: ${data.login_would_succeed}\n`)
  for (const { check, verdict, seen, message = '' } of data.checks) {
    const value = seen === undefined ? '' : `saw ${JSON.stringify(seen)}`
    process.stdout.write(
      `${[verdict.padEnd(12), check, value, message].filter(text => text !== '').join('  ')}\n`,
    )
  }
} else {
  process.stderr.write(`${errors.join('\n')}\n`)
  process.exitCode = 1
}
