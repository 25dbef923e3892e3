import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { inject, type ProvidedContext } from 'vitest'
import type { StorageFault } from '../../../infra/local/faults/storage-faults.ts'
import type { StorageCall } from '../../../infra/local/faults/storage-tap.ts'
import { remoteControl } from '../../../infra/local/provider/control.ts'
import { type CallOptions, call, type Reply } from './api.ts'
import { clock } from './clock.ts'
import { checked } from './contract.ts'
import { invokeAt } from './invoke.ts'
import { type Service, startService } from './service.ts'
import { tapKind } from './tap-kind.ts'

/** The running cluster: see running-host.ts. */
const ground = inject('ground')
const service = ground ? await startService(ground, { clock, tap: tapKind() }) : undefined
export const cluster = (service ?? inject('cluster')) as unknown as ProvidedContext['cluster'] &
  Partial<Pick<Service, 'send' | 'web_url'>>

/** The imitated AWS of the cluster. */
export const aws = remoteControl(cluster.provider_url, cluster.control_token)

/** Calls the cluster; as root unless a token is given (`token: ''` sends none). */
export const api = async (
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Reply> => {
  const all = { token: cluster.root_token, ...options }
  return service
    ? service.call(method, path, body, all)
    : checked(method, path, await call(cluster.base_url, method, path, body, all))
}

/** The same, failing on any answer that is not a success. */
export async function done(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Reply> {
  const reply = await api(method, path, body, options)
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
  return reply
}

/** The same, trying again while the answer is "busy". */
export const insist = (method: string, path: string, body?: unknown): Promise<Reply> =>
  whileBusy(() => api(method, path, body))

/** Sends again while the answer is "busy", as clients do: while the role of a cluster changes it may be. */
async function whileBusy(send: () => Promise<Reply>): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const reply = await send()
    if (reply.status !== 503 || tries === 20) return reply
    await new Promise(resolve => setTimeout(resolve, 20 * tries))
  }
}

/** Something new: names, IDs. */
export const fresh = (prefix = ''): string => prefix + randomBytes(4).toString('hex')

/** An instance ID that nothing else has. */
export const freshInstanceId = (): string => `i-${randomBytes(8).toString('hex')}0`

/** A 12-digit account that nothing else has. */
export const freshAccount = (): string =>
  String(200_000_000_000 + Number.parseInt(randomBytes(4).toString('hex'), 16))

/** Enables the auth method at a path of its own. */
export async function freshMount(
  type = 'cloud',
  config: Record<string, unknown> = {},
): Promise<{ path: string; accessor: string }> {
  const name = fresh('m')
  const { status, text } = await insist('POST', `/sys/auth/${name}`, { type, config })
  if (status !== 204) throw new Error(`enabling ${name}: ${status} ${text}`)
  const { body } = await done('GET', `/sys/auth/${name}`)
  return { path: `/auth/${name}`, accessor: body.data.accessor }
}

/** Writes a policy and makes a token with this policy only, and with the given parameters. */
export async function tokenWith(policy: string, options: Record<string, unknown> = {}): Promise<string> {
  const name = fresh('p')
  await done('POST', `/sys/policies/acl/${name}`, { policy })
  const { body } = await done('POST', '/auth/token/create', {
    policies: [name],
    no_default_policy: true,
    no_parent: true,
    ...options,
  })
  return body.auth.client_token
}

/** The certificate of the imitated AWS, as config/certificate takes it. */
export const localCertificate = async (): Promise<string> =>
  Buffer.from((await aws.authority()).rsa2048).toString('base64')

/** Calls to the tables, counted between cluster and engine. */
export const storage = {
  reset: async () => tapped().tap.reset(),
  fault: async (fault: StorageFault) => tapped().tap.fault(fault),
  /** from now on a transaction takes its items for so many milliseconds, as on AWS; until the next reset */
  awsLike: async (takesFor = 5) => tapped().tap.imitateConflicts(takesFor),
  /** takes an item for a while: whatever else would write it is refused */
  take: async (place: { table: string; pk: string; sk: string }, ms: number) =>
    tapped().tap.take({ ...place, ms }),
  /** connections that are open now are found dead when they are used again */
  dropConnections: async () => {
    if (tapKind() !== 'connections')
      throw new Error('there are none: import over-connections.ts before cluster.ts')
    tapped().drop()
  },
  calls: async (): Promise<StorageCall[]> => {
    // who looks again and again lets calls go on
    await setImmediate()
    return tapped().tap.calls()
  },
  /** waits until a fault of kind `hold` holds so many calls */
  held: (count = 1) => eventually(async () => tapped().tap.held() >= count),
  /** ends all faults, and lets the calls that are held go on; the count goes on too */
  mend: async () => tapped().tap.mend(),
}

function tapped(): NonNullable<Service['tap']> {
  if (!service?.tap) throw new Error('the cluster has no tap')
  return service.tap
}

/** Waits until jobs in the background have ended, and those that they have started. In process only. */
export async function settled(): Promise<void> {
  if (!service) throw new Error('whether a host has work in the background cannot be seen')
  await service.settled()
}

/** Runs a function of the cluster and waits for its result, as an administrator would on AWS. */
export async function invoke(functionName: string, event: unknown = {}): Promise<Reply> {
  if (service) return service.invoke(functionName, event)
  return invokeAt(cluster, functionName, event)
}

/** Waits until something is true; `ms`: then it counts as hung. */
export async function eventually<T>(probe: () => Promise<T | undefined | false>, ms = 600_000): Promise<T> {
  const until = Date.now() + ms
  for (;;) {
    const found = await probe()
    if (found) return found
    if (Date.now() > until) throw new Error('it did not come true in time')
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}
