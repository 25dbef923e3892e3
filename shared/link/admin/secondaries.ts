import type { Secondary } from '../../model/link.ts'
import { type Change, put, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** Those whose tokens are not revoked, used or not, expired or not, in the order in which they were made. */
export const secondariesOf = (items: readonly Item<'secondary'>[]): Secondary[] =>
  items
    .map(({ data }) => data)
    .filter(one => one.revokedAt === undefined)
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))

/**
 * Revokes a secondary: the cluster that activated with the token of this name, with every key it has here, whatever
 * names they stand under. A cluster that is known by nothing but its own id is revoked by that. What was revoked
 * before, or is not known, is left as it is.
 * @param all secondaries, as they stand
 * @param id name of a token, or UUID of a cluster
 */
export function revocation(all: readonly Item<'secondary'>[], id: string, now: number): Change[] {
  const named = all.find(({ data }) => data.id === id && data.revokedAt === undefined)
  const cluster = named ? named.data.cluster : UUID.test(id) ? id : undefined
  const fallen = all.filter(one => one === named || (cluster !== undefined && one.data.cluster === cluster))
  return [
    ...fallen
      .filter(({ data }) => data.revokedAt === undefined)
      .map(one => replace(one, one, { ...one.data, revokedAt: now })),
    ...(cluster === undefined ? [] : [put(key('revoked', cluster), { at: now })]),
  ]
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
