import type { ListPage } from '../ports.ts'
import { type ItemPartitions, itemPartitions, type KindDeletedWith } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import { answer, type Call, type CallOutcome, keyListAnswer, type MountCall } from './call.ts'
import { invalidRequestError } from './errors.ts'
import { intField, type SuppliedParameters, textField } from './fields.ts'

/** Paging parameters of a listing. Without them a listing is complete. @see docs/spec/transport.md#listings */
export const listFields = {
  after: textField('List only names after this name'),
  limit: intField('Maximum number of listed names; 0 or less: no limit'),
}

const LONGEST_NAME = 1024

const listing =
  <C extends Call<typeof listFields>>(where: (call: C) => ItemPartitions) =>
  async (call: C): Promise<CallOutcome> => {
    const found = await call.ports.store.list(where(call), readPageParameters(call.parameters))
    return answer(keyListAnswer(found.map(item => item.sk)))
  }

/** Lists the names of all items of a kind. */
export const createKindListing = (kind: 'token-role' | 'entity') => listing(() => itemPartitions(kind))

/** Lists the names of all items of a kind at the mount, including expired ones. */
export const createMountKindListing = (kind: KindDeletedWith<'mount'>) =>
  listing((call: MountCall<typeof listFields>) => itemPartitions(kind, call.mount.accessor))

export function readPageParameters(given: SuppliedParameters<typeof listFields>): ListPage {
  if (Buffer.byteLength(given.after ?? '') > LONGEST_NAME)
    throw invalidRequestError('parameter after is longer than any name')
  return defined({
    after: given.after || undefined,
    limit: given.limit !== undefined && given.limit > 0 ? given.limit : undefined,
  })
}

/** Sorts names and returns a page of them, for listings that contain names that are not stored. */
export const selectPage = (names: readonly string[], { after = '', limit }: ListPage): string[] =>
  names
    .filter(name => name > after)
    .sort()
    .slice(0, limit)
