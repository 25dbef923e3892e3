import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { inject, type ProvidedContext } from 'vitest'
import { createRemoteControl } from '../../../infra/local/provider/control.ts'
import type { StorageFault } from '../faults/storage-faults.ts'
import type { StorageCall } from '../faults/storage-tap.ts'
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
  Partial<Pick<Service, 'send' | 'web_url' | 'tap_url'>>

/** The imitated AWS of the cluster. */
export const aws = createRemoteControl(cluster.provider_url, cluster.control_token)

/** Calls the cluster with the root token, or with the given token (`token: ''` sends no token). */
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

/** Calls the cluster and throws on any answer that is not a success. */
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

/** Calls the cluster and repeats the request while the answer is "busy". */
export const insist = (method: string, path: string, body?: unknown): Promise<Reply> =>
  whileBusy(() => api(method, path, body))

/**
 * Repeats a request while the answer is "busy", as clients do. A role change of the cluster can cause this
 * answer.
 */
async function whileBusy(send: () => Promise<Reply>): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const reply = await send()
    if (reply.status !== 503 || tries === 20) return reply
    await new Promise(resolve => setTimeout(resolve, 20 * tries))
  }
}

/** Returns a new name or ID. */
export const fresh = (prefix = ''): string => prefix + randomBytes(4).toString('hex')

/** Returns a new instance ID. */
export const freshInstanceId = (): string => `i-${randomBytes(8).toString('hex')}0`

/** Returns a new 12-digit account. */
export const freshAccount = (): string =>
  String(200_000_000_000 + Number.parseInt(randomBytes(4).toString('hex'), 16))

/** Enables the auth method at a new path. */
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

/** Writes a policy and makes a token with only this policy, and with the given parameters. */
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

/** Returns the certificate of the imitated AWS, in the form of config/certificate. */
export const localCertificate = async (): Promise<string> =>
  Buffer.from((await aws.authority()).rsa2048).toString('base64')

/** Counts and faults of calls to the tables, from the storage tap between cluster and engine. */
export const storage = {
  reset: async () => tapped().tap.reset(),
  fault: async (fault: StorageFault) => tapped().tap.fault(fault),
  /** makes a transaction lock its items for some milliseconds, as on AWS, until the next reset */
  awsLike: async (takesFor = 5) => tapped().tap.imitateConflicts(takesFor),
  /** locks an item for a while, so that other writes of the item are refused */
  take: async (place: { table: string; pk: string; sk: string }, ms: number) =>
    tapped().tap.take({ ...place, ms }),
  /** kills the open connections, so that the next call on each fails */
  dropConnections: async () => {
    if (tapKind() !== 'connections')
      throw new Error('there are none: import over-connections.ts before cluster.ts')
    tapped().drop()
  },
  calls: async (): Promise<StorageCall[]> => {
    // a probe that repeats without a pause must let other calls continue
    await setImmediate()
    return tapped().tap.calls()
  },
  /** waits until a fault of kind `hold` holds `count` calls */
  held: (count = 1) => eventually(async () => tapped().tap.held() >= count),
  /** ends all faults and releases held calls; the counts continue */
  mend: async () => tapped().tap.mend(),
}

function tapped(): NonNullable<Service['tap']> {
  if (!service?.tap) throw new Error('the cluster has no tap')
  return service.tap
}

/**
 * Waits until background jobs, and the jobs that they started, have ended. Works only for a service in this
 * process.
 */
export async function settled(): Promise<void> {
  if (!service) throw new Error('whether a host has work in the background cannot be seen')
  await service.settled()
}

/** Runs a function of the cluster and waits for its result, as an administrator would on AWS. */
export async function invoke(functionName: string, event: unknown = {}): Promise<Reply> {
  if (service) return service.invoke(functionName, event)
  return invokeAt(cluster, functionName, event)
}

/** Waits until a probe is true; `ms`: time after which the probe counts as hung. */
export async function eventually<T>(probe: () => Promise<T | undefined | false>, ms = 600_000): Promise<T> {
  const until = Date.now() + ms
  for (;;) {
    const found = await probe()
    if (found) return found
    if (Date.now() > until) throw new Error('it did not come true in time')
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}
