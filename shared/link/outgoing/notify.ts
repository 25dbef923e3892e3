import type { Secondary } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { normaliseMemberAddresses } from '../../values/member-address.ts'
import type { CreateLinkCarrier } from '../../wire/carry.ts'
import { decryptOwnLinkKey } from '../admin/keys.ts'
import { listSecondaries } from '../admin/secondaries.ts'
import { createLinkCallSender } from '../call.ts'
import { parseLinkPublicKeys } from '../pair.ts'

type Dependencies = Pick<Ports, 'store' | 'cipher' | 'clock' | 'entropy' | 'log' | 'deployment'>

/** The minimum milliseconds between two rounds of notices. */
const NOTICE_SPACING_MS = 200

/**
 * Creates the function that notifies secondaries of new entries, for one environment. A notice contains only that
 * new entries exist. A lost notice does no harm, because secondaries look for entries every ten seconds anyway.
 * @returns the function; calls within 200 ms share a round
 */
export function createNotifier(ports: Dependencies, to: CreateLinkCarrier): () => Promise<void> {
  let last = 0
  let next: Promise<void> | undefined
  const awake: LastAnswered = new Map()
  const soon = async () => {
    const { clock } = ports
    await clock.sleep(Math.max(0, last + NOTICE_SPACING_MS - clock.now()))
    last = clock.now()
    // Commits from now on need another notice.
    next = undefined
    await notifyAll(ports, to, awake)
  }
  return () => {
    next ??= soon()
    return next
  }
}

/** When the last answered notice was sent, epoch milliseconds, by the secondary's public key. */
type LastAnswered = Map<string, number>

async function notifyAll(ports: Dependencies, to: CreateLinkCarrier, awake: LastAnswered): Promise<void> {
  const { store, cipher, clock, entropy, log, deployment: rules } = ports
  const [record] = await store.read([key('cluster')])
  if (record?.data.mode !== 'primary') return
  const { link, set, id } = record.data
  if (!link || set === undefined) return
  const { signing } = await decryptOwnLinkKey(link.ownKey, cipher)
  const all = listSecondaries(await store.list(itemPartitions('secondary')), record.data)
  const notify = async ({ address, publicKey = '' }: Secondary) => {
    const keys = parseLinkPublicKeys(publicKey)
    if (address === '' || !keys || clock.now() < (awake.get(publicKey) ?? 0) + bounds.AWAKE_MS) return
    const askedAt = clock.now()
    const end = { set, from: id, signing, otherKey: keys.signing }
    const ask = createLinkCallSender(end, {
      clock,
      entropy,
      rules,
      carry: to({ addresses: normaliseMemberAddresses([address], rules) }),
    })
    await ask('Notify', {}, []).then(
      () => awake.set(publicKey, askedAt),
      (error: unknown) => log.info('notice', { address, cause: String(error) }),
    )
  }
  await Promise.all(all.filter(one => one.activatedAt !== undefined).map(notify))
}
