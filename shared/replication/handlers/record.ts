import type { Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** The record that a role change replaces, read with the request's first read. */
export const prepareRecord = async () => ({ keys: [key('cluster')] as const, prepared: undefined })

/** @throws ApiError before initialisation */
export function recordOf({ fetched }: Pick<Call, 'fetched'>): Item<'cluster'> {
  const item = fetched.get(key('cluster'))
  if (!item) throw new ApiError('not_initialised')
  return item
}
