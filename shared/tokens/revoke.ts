import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  callerOf,
  noContentAnswer,
} from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { readCurrentCluster } from '../jobs/job.ts'
import { accessorOfTokenText, BATCH_TOKEN_PREFIX, type Token } from '../model/token.ts'
import type { ClusterRead } from '../ports.ts'
import { type Change, removeItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { CONFLICT_RESULT, ok } from '../values/result.ts'
import { retryOnConflict } from '../values/retrying.ts'
import { orphanChildTokens, revokeDescendants } from './descendants.ts'
import type { accessorField, requiredToken } from './lookup.ts'

/**
 * Handles POST auth/token/revoke: revokes a token with all descendants, or a wrapping token with its response. Revoking an unknown
 * token succeeds.
 */
export async function revokeToken(call: Call<typeof requiredToken>): Promise<CallOutcome> {
  const asked = call.parameters.token ?? ''
  if (asked.startsWith(BATCH_TOKEN_PREFIX)) throw noBatch()
  return revoking(call, await accessorOfTokenText(asked, call.ports.cipher))
}

const noBatch = () => invalidRequestError('batch tokens cannot be revoked')

/** Handles POST auth/token/revoke-self. */
export function revokeOwnToken(call: Call): Promise<CallOutcome> {
  const { accessor } = callerOf(call)
  if (accessor === '') throw noBatch()
  return revoking(call, accessor)
}

/** Handles POST auth/token/revoke-accessor. An unknown accessor causes a warning, not an error. */
export async function revokeTokenByAccessor(call: Call<typeof accessorField>): Promise<CallOutcome> {
  const accessor = call.parameters.accessor ?? ''
  const found = await call.ports.store.read([key('token', accessor), key('wrapped', accessor)])
  if (!found.some(Boolean)) return answer(noContentAnswer(['no token has this accessor']))
  return revoking(call, accessor)
}

const REVOKE_TOKEN_TRIES = 10

/**
 * Handles POST auth/token/revoke-orphan: revokes only the token, not its children. The children of the revoked
 * token become orphans.
 */
export async function revokeTokenAndOrphan(call: Call<typeof requiredToken>): Promise<CallOutcome> {
  const asked = call.parameters.token ?? ''
  if (asked.startsWith(BATCH_TOKEN_PREFIX)) throw noBatch()
  const accessor = await accessorOfTokenText(asked, call.ports.cipher)
  const [item] = await call.ports.store.read([key('token', accessor)])
  if (!item) throw invalidRequestError('token not found')
  const release = async (cluster: ClusterRead) => {
    const released = await retryOnConflict({ tries: REVOKE_TOKEN_TRIES }, async () =>
      (await orphanChildTokens(item, accessor, call.ports, cluster)) ? ok() : CONFLICT_RESULT,
    )
    if (!released.ok) throw new ApiError('busy', 'the token’s children are in use', { retryAfter: 1 })
  }
  await release(call.cluster)
  // orphans the children created in the meantime; a child created even later is invalid
  const late = async () => release(await readCurrentCluster(call.ports))
  return { ...answerAfterChanges(gone(accessor, item.data)), afterwards: late }
}

// Deletes only the revoked token at first, which invalidates all its descendants at once. The sweep after the
// commit frees the descendants' storage.
async function revoking(call: Call, accessor: string): Promise<CallOutcome> {
  const [item, wrapped] = await call.ports.store.read([key('token', accessor), key('wrapped', accessor)])
  return {
    answer: noContentAnswer(),
    changes: [...gone(accessor, item?.data), ...(wrapped ? [removeItem(wrapped)] : [])],
    afterwards: async () => {
      await revokeDescendants(
        accessor,
        call.ports,
        () => readCurrentCluster(call.ports),
        call.request.deadline,
      )
    },
  }
}

const gone = (accessor: string, token: Readonly<Token> | undefined): Change[] => [
  removeItem(key('token', accessor)),
  ...(token?.parent ? [removeItem(key('child', token.parent, accessor))] : []),
]
