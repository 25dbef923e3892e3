import type { MountCall } from '../../api/call.ts'
import { ApiError, invalidRequestError } from '../../api/errors.ts'
import { readCurrentCluster } from '../../jobs/job.ts'
import type { RotationGuard } from '../../model/rotation.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'

const keyOf = (call: MountCall) => key('rotation', call.mount.accessor)

/**
 * Takes the guard, which allows one rotation at a time.
 * @returns when an earlier rotation started to create a key that it never stored; 0 if no rotation did
 * @throws ApiError `invalid_request` if a rotation is running
 */
export async function takeRotationGuard(call: MountCall): Promise<number> {
  const { store, clock } = call.ports
  const running = invalidRequestError('a rotation is already running')
  const [held] = await store.read([keyOf(call)])
  if (held && held.data.leaseUntil > clock.now()) throw running
  const makingSince = held?.data.makingSince ?? 0
  const guard = guardUntil(call, clock.now() + bounds.ROTATION_LEASE_MS, makingSince)
  const change = replaceItem(keyOf(call), held, guard)
  if ((await store.commit([change], await readCurrentCluster(call.ports))) !== 'done') throw running
  return makingSince
}

const guardUntil = (call: MountCall, leaseUntil: number, makingSince: number): RotationGuard => ({
  leaseUntil,
  makingSince,
  owner: call.request.id,
})

/**
 * Returns the change that extends the guard and sets `makingSince`. Commit the guard with the change that
 * `makingSince` describes.
 */
export const rotationGuardChange = (call: MountCall, makingSince: number): Change => ({
  kind: 'put',
  key: keyOf(call),
  data: guardUntil(call, call.ports.clock.now() + bounds.ROTATION_LEASE_MS, makingSince),
  expected: 'any',
  times: {},
})

/** Records that the rotation is about to create a key. */
export const recordKeyCreation = (call: MountCall): Promise<void> =>
  commitAllChanges(call, [rotationGuardChange(call, call.ports.clock.now())])

/** Records that the rotation created no key. */
export const clearKeyCreation = (call: MountCall): Promise<void> =>
  commitAllChanges(call, [rotationGuardChange(call, 0)])

/** Releases the guard if this request holds it, and keeps the record of a lost key. If the release fails, the guard's lease expires. */
export async function releaseRotationGuard(call: MountCall): Promise<void> {
  try {
    const [held] = await call.ports.store.read([keyOf(call)])
    if (held?.data.owner !== call.request.id) return
    await commitAllChanges(call, [replaceItem(keyOf(call), held, { ...held.data, leaseUntil: 0 })])
  } catch (error) {
    call.ports.log.warn('guard of a rotation', { cause: String(error) })
  }
}

/** Commits changes. @throws ApiError `busy` if another request has changed the same items */
export async function commitAllChanges(call: MountCall, changes: readonly Change[]): Promise<void> {
  if ((await call.ports.store.commit(changes, await readCurrentCluster(call.ports))) === 'done') return
  throw new ApiError('busy', 'the client configuration is being changed', { retryAfter: 1 })
}
