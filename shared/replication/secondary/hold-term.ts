import { linkPair } from '../../link/pair.ts'
import type { SourceLink } from '../../link/source.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { put, replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'

type Needs = Pick<Ports, 'store' | 'cipher' | 'genesis' | 'clock'>

/**
 * Takes the keyring of the primary anew when something is encrypted by a term that this cluster does not hold yet.
 * It is stored before anything of that term is.
 */
export async function holdTerm(
  { store, cipher, genesis, clock }: Needs,
  link: Pick<SourceLink, 'keyring'>,
  cluster: ClusterRead,
  term: number,
): Promise<void> {
  const { set, link: own, term: held } = cluster.record
  if (term <= held || !set || !own) return
  const pair = linkPair((await cipher.decrypt(key('cluster'), 'ownKey', own.ownKey)).reveal())
  const { keyring: sealed } = await link.keyring({ term })
  const { keyring } = await genesis.importFrom(sealed, pair.exchange, set, clock.now())
  const [record] = await store.read([key('cluster')])
  if (!record || record.data.keyring !== keyring.id)
    throw new Error('the primary gave the keyring of another set')
  // another link came meanwhile, and with it another primary's keyring
  if (record.data.link?.ownKey !== own.ownKey) return
  if (record.data.term >= keyring.term) return
  const changes = [
    put(key('keyring'), keyring),
    replace(record, record, { ...record.data, term: keyring.term }),
  ]
  // somebody else may have stored it at this moment: who needs it looks again
  await store.commit(changes, cluster)
}
