import { type MemberStanding, memberStandingOf } from './order.ts'

/** What a cluster answered: status, and the body as JSON, empty where it is none. */
export interface Answered {
  status: number
  body: Record<string, unknown>
}

export interface AskedMember {
  method?: 'GET' | 'POST'
  token?: string
  body?: object
}

/** Milliseconds for an answer: changes of role take the longest. */
const ANSWER_TIMEOUT_MS = 60_000

/** Sends a request to a cluster. @throws where nobody answers */
export async function send(
  address: string,
  path: string,
  { method = 'GET', token, body }: AskedMember = {},
): Promise<Answered> {
  const response = await fetch(`${address}/v1/${path}`, {
    method,
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    headers: { ...(token ? { 'X-Vault-Token': token } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  try {
    return { status: response.status, body: JSON.parse(text || '{}') as Record<string, unknown> }
  } catch {
    return { status: response.status, body: {} }
  }
}

export type SendTo = typeof send

/** The data of a cluster's status. */
export async function memberStatusOf(address: string, sending: SendTo): Promise<Record<string, unknown>> {
  const { body } = await sending(address, 'sys/replication/dr/status')
  return (body['data'] ?? {}) as Record<string, unknown>
}

/** What a cluster is: it is asked for its health, and a secondary for its status, too. */
export async function look(address: string, sending: SendTo = send): Promise<MemberStanding> {
  const health = await sending(address, 'sys/health').catch(() => undefined)
  if (!health) return 'absent'
  const { status, body } = health
  const state = status === 472 ? (await memberStatusOf(address, sending))['state'] : undefined
  return memberStandingOf({ status, mode: body['replication_dr_mode'] }, state)
}
