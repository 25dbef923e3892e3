import type { ClusterRecord } from '../../shared/model/cluster.ts'
import type { Secondary } from '../../shared/model/link.ts'
import { type Item, key } from '../../shared/storage/kinds.ts'
import { item } from '../support/tables/items.ts'

/** Builds the record of a primary without a set, with the given parts. */
export const clusterRecord = (parts: Partial<ClusterRecord> = {}): ClusterRecord => ({
  id: 'c',
  name: 'c',
  mode: 'primary',
  keyring: 'k',
  term: 1,
  keyringEdition: 1,
  initialisedAt: 0,
  ...parts,
})

/** Builds the stored item of such a record. */
export const clusterItem = (parts: Partial<ClusterRecord> = {}): Item<'cluster'> =>
  item(key('cluster'), clusterRecord(parts), 'r')

/** Builds a cluster that a primary admits, under an activation token. */
export const secondaryItem = (parts: Partial<Secondary>): Item<'secondary'> =>
  item(
    key('secondary', parts.id ?? ''),
    {
      id: '',
      createdAt: 1,
      expires: 2,
      jti: 'h',
      lastCallTime: 0,
      address: '',
      apiAddress: '',
      version: '',
      epoch: '000001.c',
      ...parts,
    },
    'r',
  )
