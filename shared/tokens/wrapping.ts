import { SYSTEM_LEASE_TTL_SECONDS } from '../model/mount.ts'
import { accessorOfHash, tokenHashOf, toSeconds } from '../model/token.ts'
import type { WrapInfo, WrappedResponse } from '../model/wrapped.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, createItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import type { Secret } from '../values/secret.ts'
import { formatTime } from '../values/time.ts'

/** Maximum TTL of a wrapped response, seconds (768 h). */
export const MAX_WRAPPING_SECONDS = SYSTEM_LEASE_TTL_SECONDS

export interface WrappingResult {
  /** body of the original response */
  response: string
  path: string
  /** accessor of the mount that produced the response, if any */
  mount: string | undefined
  ttl: number
  now: number
  /** accessor of the login token inside the response, if any */
  wrappedAccessor: string
  text: Secret
}

/** Stores a response under a new single-use token. */
export async function wrapResponse(
  given: WrappingResult,
  cipher: FieldCipher,
): Promise<{ info: WrapInfo; change: Change }> {
  const hash = tokenHashOf(given.text.reveal())
  const place = key('wrapped', accessorOfHash(hash))
  const item: WrappedResponse = defined({
    hash,
    response: await cipher.encrypt(place, 'response', given.response),
    creationPath: given.path,
    mount: given.mount,
    createdAt: given.now,
    ttl: given.ttl,
    wrappedAccessor: given.wrappedAccessor,
  })
  return {
    change: createItem(place, item, { expires: toSeconds(given.now) + given.ttl }),
    info: defined({
      token: given.text.reveal(),
      accessor: accessorOfHash(hash),
      ttl: given.ttl,
      creation_time: formatTime(given.now),
      creation_path: given.path,
      wrapped_accessor: given.wrappedAccessor || undefined,
    }),
  }
}
