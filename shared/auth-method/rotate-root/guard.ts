import type { MountCall } from '../../api/call.ts'
import { ApiError, invalid } from '../../api/errors.ts'
import { currentCluster } from '../../jobs/job.ts'
import type { Rotation } from '../../model/rotation.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'

const keyOf = (call: MountCall) => key('rotation', call.mount.accessor)

/**
 * Takes the guard: one rotation at a time.
 * @returns when an earlier rotation was about to make a key that it then never stored; 0: never
 * @throws ApiError `invalid_request` when one is running
 */
export async function takeGuard(call: MountCall): Promise<number> {
  const { store, clock } = call.ports
  const running = invalid('a rotation is already running')
  const [held] = await store.read([keyOf(call)])
  if (held && held.data.leaseUntil > clock.now()) throw running
  const makingSince = held?.data.makingSince ?? 0
  const guard = guardUntil(call, clock.now() + bounds.ROTATION_LEASE_MS, makingSince)
  const change = replace(keyOf(call), held, guard)
  if ((await store.commit([change], await currentCluster(call.ports))) !== 'done') throw running
  return makingSince
}

const guardUntil = (call: MountCall, leaseUntil: number, makingSince: number): Rotation => ({
  leaseUntil,
  makingSince,
  owner: call.request.id,
})

/** The guard for some more time, to be committed with whatever makes true what it says of a key being made. */
export const guardChange = (call: MountCall, makingSince: number): Change => ({
  kind: 'put',
  key: keyOf(call),
  data: guardUntil(call, call.ports.clock.now() + bounds.ROTATION_LEASE_MS, makingSince),
  expected: 'any',
  times: {},
})

/** Notes that a key is about to be made. */
export const recordKeyCreation = (call: MountCall): Promise<void> =>
  commitAll(call, [guardChange(call, call.ports.clock.now())])

/** Notes that no key was made. */
export const clearKeyCreation = (call: MountCall): Promise<void> => commitAll(call, [guardChange(call, 0)])

/**
 * Gives the guard back, if this request holds it; what it says of a lost key stays. Where that fails, the guard
 * ends by itself.
 */
export async function releaseGuard(call: MountCall): Promise<void> {
  try {
    const [held] = await call.ports.store.read([keyOf(call)])
    if (held?.data.owner !== call.request.id) return
    await commitAll(call, [replace(keyOf(call), held, { ...held.data, leaseUntil: 0 })])
  } catch (error) {
    call.ports.log.warn('guard of a rotation', { cause: String(error) })
  }
}

/** @throws ApiError `busy` when something else changed the same items */
export async function commitAll(call: MountCall, changes: readonly Change[]): Promise<void> {
  if ((await call.ports.store.commit(changes, await currentCluster(call.ports))) === 'done') return
  throw new ApiError('busy', 'the client configuration is being changed', { retryAfter: 1 })
}
