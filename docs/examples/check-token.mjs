// A service whose clients need a token of cloud-auth that has a policy.
//   BASE=http://127.0.0.1:8200/v1 POLICY=demo PORT=8300 [KEPT_S=30] node check-token.mjs
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const { BASE, POLICY, PORT, KEPT_S = '30' } = process.env
const MOST_KEPT = 10_000
const kept = new Map()

/** Whose token it is, as cloud-auth says now or said KEPT_S seconds ago at most; undefined: it is good for nothing. */
async function holderOf(token) {
  // a dump of this process's memory shows no tokens
  const name = createHash('sha256').update(token).digest('hex')
  const known = kept.get(name)
  if (known?.until > Date.now()) return known.holder
  kept.delete(name)
  const asked = Date.now()
  const answer = await fetch(`${BASE}/auth/token/lookup-self`, {
    headers: { 'x-vault-token': token },
    signal: AbortSignal.timeout(5000),
  })
  if (answer.status === 403) return undefined
  if (!answer.ok) throw new Error(`cloud-auth answered ${answer.status}`)
  const { data: holder } = await answer.json()
  // a token with a life shorter than that is not kept longer; 0: it has no end
  const seconds = Math.min(Number(KEPT_S), holder.ttl || Number.POSITIVE_INFINITY)
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(name, { holder, until: asked + seconds * 1000 })
  return holder
}

async function answerTo({ headers: { authorization = '' } }) {
  // the service sends no malformed token to cloud-auth
  const [, token] = /^Bearer ([\w.-]{1,8192})$/.exec(authorization) ?? []
  const holder = token && (await holderOf(token))
  if (!holder) return [401, 'show a token of cloud-auth as Authorization: Bearer']
  if (!holder.policies.includes(POLICY)) return [403, `the token has not the policy ${POLICY}`]
  return [200, `good day, ${holder.display_name}: ${JSON.stringify(holder.meta)}`]
}

const server = createServer(async (request, response) => {
  // who cannot ask serves nobody: a token that was revoked looks like a good one
  const [status, text] = await answerTo(request).catch(error => [503, error.message])
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`)
})
server.listen(Number(PORT), '127.0.0.1')
