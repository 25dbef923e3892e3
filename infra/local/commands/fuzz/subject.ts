import { createServer, type IncomingMessage, request as requestTo, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '../../os/loopback.ts'

/** What the fuzzer carries instead of a token: it never knows one that lasts. */
export const TOKEN = 'fuzz'

/** What was sent, and what came of it. */
export interface SubjectSeen {
  requests: number
  /** by status */
  statuses: Map<number, number>
  /** faults of ours: method, path, answer */
  failures: string[]
  /** tokens that were made for the run */
  tokens: number
}

export interface Subject {
  url: string
  seen: SubjectSeen
  close(): void
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: string
}

/** What names in paths stand for: a run that had deleted it would look at nothing but absences. */
const kept: readonly (readonly [path: string, body: object])[] = [
  ['/sys/auth/cloud', { type: 'cloud' }],
  ['/auth/cloud/role/web', { auth_type: 'ec2', bound_region: 'us-east-1', role_tag: 'CloudRole' }],
  ['/auth/cloud/config/client', { max_retries: 0 }],
  ['/auth/cloud/config/sts/111122223333', { sts_role: 'arn:aws:iam::111122223333:role/web' }],
  ['/auth/token/roles/web', { allowed_policies: 'default' }],
  ['/sys/policies/acl/web', { policy: 'path "a/*" { capabilities = ["read"] }' }],
]

/** Requests after which it is written again. */
const EVERY = 50

/**
 * Stands before a cluster and keeps it the subject of a run: requests with `TOKEN` carry a root token that is made anew
 * as soon as it has ended, and what paths name is there again after some requests.
 */
export async function keptSubject(base: string, root: string): Promise<Subject> {
  const seen: SubjectSeen = { requests: 0, statuses: new Map(), failures: [], tokens: 0 }
  let token = ''
  const renew = async () => {
    const made = await ask(
      base,
      'POST',
      '/auth/token/create',
      { 'x-vault-token': root },
      '{"policies":["root"],"ttl":"1h"}',
    )
    token = (JSON.parse(made.body) as { auth: { client_token: string } }).auth.client_token
    seen.tokens += 1
  }
  const revive = async () => {
    for (const [path, body] of kept)
      await ask(base, 'POST', path, { 'x-vault-token': root }, JSON.stringify(body))
  }
  await renew()
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/', headers } = request
    const body = await text(request)
    if (seen.requests % EVERY === 0) await revive()
    const isOurs = headers['x-vault-token'] === TOKEN
    const send = () =>
      ask(base, method, path, isOurs ? { ...headers, 'x-vault-token': token } : headers, body)
    let answer = await send()
    if (isOurs && answer.status === 403 && (await isEnded(base, token))) {
      await renew()
      answer = await send()
    }
    note(seen, `${method} ${path} ${body.slice(0, 300)}`, answer)
    const { 'transfer-encoding': _, connection: __, ...kept } = answer.headers
    response.writeHead(answer.status, kept)
    response.end(answer.body)
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      seen.failures.push(`${request.method} ${request.url}: ${String(error)}`)
      response.destroy()
    })
  })
  const url = await listen(server)
  return { url, seen, close: () => void server.close() }
}

const isEnded = async (base: string, token: string): Promise<boolean> =>
  (await ask(base, 'GET', '/auth/token/lookup-self', { 'x-vault-token': token }, '')).status === 403

function note(seen: SubjectSeen, what: string, { status, body }: Answer): void {
  seen.requests += 1
  seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1)
  const isHealth = what.includes('/sys/health')
  if (status >= 500 && ![502, 503].includes(status) && !isHealth)
    seen.failures.push(`${what} → ${status} ${body.slice(0, 300)}`)
}

function ask(base: string, method: string, path: string, headers: object, body: string): Promise<Answer> {
  const { hostname, port, pathname } = new URL(base)
  return new Promise((resolve, reject) => {
    const {
      host: _,
      'content-length': __,
      'transfer-encoding': ___,
      ...others
    } = headers as Record<string, string>
    const outgoing = requestTo(
      {
        hostname,
        port,
        method,
        path: `${pathname.replace(/\/$/, '')}${path}`,
        headers: { ...others, ...(body === '' ? {} : { 'content-length': Buffer.byteLength(body) }) },
      },
      answer => {
        text(answer).then(
          found => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: found }),
          reject,
        )
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
