import type { Secondary } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { decryptOwnKey } from '../admin/keys.ts'
import { secondariesOf } from '../admin/secondaries.ts'
import { asker } from '../call.ts'
import type { CarryTo } from '../carry.ts'
import { readPublicKey } from '../pair.ts'

type Dependencies = Pick<Ports, 'store' | 'cipher' | 'clock' | 'entropy' | 'log'>

/** Notices that a secondary gets in a second, at most; one that is not sent is made good by the next, or by time. */
const SPACING_MS = 200

/**
 * Tells secondaries that there is something to fetch. A notice says nothing else, and one that is lost does not
 * matter: they look by themselves every minute.
 * @returns a function that does it, for one environment
 */
export function notifier(ports: Dependencies, to: CarryTo): () => Promise<void> {
  let last = 0
  let next: Promise<void> | undefined
  const soon = async () => {
    const { clock } = ports
    await clock.sleep(Math.max(0, last + SPACING_MS - clock.now()))
    last = clock.now()
    // what is written from now on is worth another notice
    next = undefined
    await notifyAll(ports, to)
  }
  return () => {
    next ??= soon()
    return next
  }
}

async function notifyAll(ports: Dependencies, to: CarryTo): Promise<void> {
  const { store, cipher, clock, entropy, log } = ports
  const [record] = await store.read([key('cluster')])
  if (record?.data.mode !== 'primary') return
  const { link, set, id } = record.data
  if (!link || set === undefined) return
  const { signing } = await decryptOwnKey(link.ownKey, cipher)
  const all = secondariesOf(await store.list(partitions('secondary')), record.data)
  const notify = async ({ address, publicKey = '' }: Secondary) => {
    const keys = readPublicKey(publicKey)
    if (address === '' || !keys) return
    const end = { set, from: id, signing, otherKey: keys.signing }
    const ask = asker(end, { clock, entropy, carry: to({ addresses: [address] }) })
    await ask('Notify', {}, []).catch((error: unknown) =>
      log.info('notice', { address, cause: String(error) }),
    )
  }
  await Promise.all(all.filter(one => one.activatedAt !== undefined).map(notify))
}
