import type { Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** Reads the cluster record, which a role change replaces, together with the request's first read. */
export const prepareClusterRecord = async () => ({ keys: [key('cluster')] as const })

/** Returns the cluster record. @throws ApiError before initialisation */
export function requireClusterRecord({ fetched }: Pick<Call, 'fetched'>): Item<'cluster'> {
  const item = fetched.get(key('cluster'))
  if (!item) throw new ApiError('not_initialised')
  return item
}
