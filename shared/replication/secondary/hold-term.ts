import { meets, type TermNeeds } from '../../journal/terms.ts'
import { decryptOwnKey } from '../../link/admin/keys.ts'
import type { SourceLink } from '../../link/source-link.ts'
import { type ClusterRecord, type Keyring, withKeyring } from '../../model/cluster.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'

type Needs = Pick<Ports, 'store' | 'cipher' | 'genesis' | 'clock'>

/** What a keyring meets: terms that were given up are as good as held. */
export const heldBy = ({ term, highest = term, active, held = [], gone = [] }: Keyring): TermNeeds => ({
  number: highest,
  ids: [...held, ...gone],
  active,
})

/**
 * Takes the keyring of the primary besides the own one when something is brought by a term that this cluster does not
 * hold yet. It is stored before anything of that term is.
 * @returns what is held
 * @throws Error where the primary does not give the term
 */
export async function holdTerm(
  ports: Needs,
  link: Pick<SourceLink, 'keyring'>,
  cluster: ClusterRead,
  needs: TermNeeds,
): Promise<TermNeeds> {
  const [own] = await ports.store.read([key('keyring')])
  if (!own) throw new Error('there is no keyring')
  const held = heldBy(own.data)
  // a number that is not higher is of a term that this cluster has, or the item that names the term comes with it
  if (meets(held, needs)) return held
  const { keyring: sealed } = await link.keyring({ term: needs.number })
  const united = heldBy(await takeSealed(ports, cluster, sealed))
  // a rotation since the primary told of its term may have brought another one that encrypts
  if (!meets(united, { ...needs, active: undefined }))
    throw new Error('the primary does not give a term that it writes by')
  return united
}

/**
 * Stores the terms of the primary's keyring besides the own ones, where this cluster still follows by the same link.
 * @param sealed as the primary gave it
 * @returns the keyring as it stands then
 */
export async function takeSealed(ports: Needs, cluster: ClusterRead, sealed: string): Promise<Keyring> {
  const [record, own] = await ports.store.read([key('cluster'), key('keyring')])
  const { set, link } = cluster.record
  if (!record || !own || !set || !link) throw new Error('this cluster follows nobody')
  const pair = await decryptOwnKey(link.ownKey, ports.cipher)
  const { keyring: given } = await ports.genesis.importFrom(sealed, pair.exchange, set, ports.clock.now())
  if (record.data.keyring !== given.id) throw new Error('the primary gave the keyring of another set')
  // another link came meanwhile, and with it another primary's keyring
  if (record.data.link?.ownKey !== link.ownKey) return own.data
  const { keyring } = await ports.genesis.unite(given, own.data, ports.clock.now())
  // somebody else may have stored it at this moment: who needs it looks again
  await ports.store.commit(keyringChanges(record, own, keyring), cluster)
  const [now] = await ports.store.read([key('keyring')])
  return now?.data ?? own.data
}

/** A cluster's change to another keyring. @param rest of the record */
export function keyringChanges(
  record: Item<'cluster'>,
  own: Item<'keyring'> | undefined,
  made: Keyring,
  rest: Partial<ClusterRecord> = {},
) {
  const next = withKeyring({ ...record.data, ...rest }, made)
  return [replace(record, record, next.record), replace(key('keyring'), own, next.keyring)] as const
}
