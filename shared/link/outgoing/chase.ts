import type { ClusterRecord } from '../../model/cluster.ts'
import type { FenceOutcome, Fences, Member } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import type { Head } from '../../replication/head.ts'
import { replace } from '../../storage/changes.ts'
import { type Item, key, partitions } from '../../storage/kinds.ts'
import { decryptOwnKey } from '../admin/keys.ts'
import { secondariesOf } from '../admin/secondaries.ts'
import type { Carry, CarryTo } from '../carry.ts'
import { signCall } from '../envelope.ts'
import { vouched } from '../membership.ts'
import { forms } from '../messages.ts'
import { keysOf, type LinkPair, readPublicKey } from '../pair.ts'
import type { MemberKey } from '../trust.ts'
import { type FenceAnswer, judgeFence } from './fence-answer.ts'

export type ChasePorts = Pick<
  Ports,
  'store' | 'journal' | 'cipher' | 'clock' | 'entropy' | 'log' | 'deployment'
>

/** Milliseconds that one cluster may take: commits refuse a cluster record that was read 20 s before. */
const PATIENCE = 10_000
/** A secondary that was heard within so many milliseconds follows this cluster: it need not be asked. */
const FOLLOWS_MS = 60_000
const NONCE = 16
/** Characters of an answer that are kept. */
const LONGEST_TEXT = 300

/**
 * Has every other primary of the set end its epoch: shows this cluster's epoch at each address where a cluster of the set
 * has ever been met, until it is acknowledged there. Who denies it is left alone until there is more to show. Every
 * minute on a primary; elsewhere it does nothing.
 */
export async function chase(ports: ChasePorts, to: CarryTo): Promise<void> {
  const { store, clock, log } = ports
  const readAt = clock.now()
  const [record, fences] = await store.read([key('cluster'), key('fences')])
  if (record?.data.mode !== 'primary') return
  const known = await knownOf(record.data, ports)
  const before = (fences?.data.epoch === record.data.epoch && fences?.data.asked) || {}
  const chain = known.self?.data.statements.length ?? 0
  const due = known.addresses.filter(one => isDue(before[one], chain))
  const kept = Object.entries(before).filter(([address, one]) => isNews(address, one, known))
  if (due.length === 0 && kept.length === Object.keys(before).length) return
  const claimant = await claimantOf(record.data, known, ports)
  if (!claimant) return
  const answers = await Promise.all(
    due.map(async address => ({ address, ...(await ask(claimant, to({ addresses: [address] }), ports)) })),
  )
  const asked = { ...Object.fromEntries(kept), ...outcomesOf(answers, before, { chain, at: clock.now() }) }
  const changed = Object.entries(asked).filter(([address, one]) => before[address] !== one)
  for (const [address, { result, text }] of changed) log.info('fence', { address, result, text })
  const next: Fences = { epoch: claimant.head.epoch, asked }
  const mine = vouched(known.self?.data, {
    vouchers: answers.flatMap(({ voucher }) => (voucher ? [voucher] : [])),
    addresses: answers.flatMap(({ addresses }) => addresses),
  })
  const changes = [
    ...(changed.length > 0 || kept.length < Object.keys(before).length
      ? [replace(key('fences'), fences, next)]
      : []),
    ...(hasGrown(known.self?.data, mine) ? [replace(key('member', record.data.id), known.self, mine)] : []),
  ]
  // who was faster has asked as well: the rest is for the next minute
  if (changes.length > 0) await store.commit(changes, { record: record.data, readAt })
}

/** An end that was acknowledged stays one; what else was said by a cluster that follows this one by now is over. */
const isNews = (address: string, { result }: FenceOutcome, { addresses }: Known): boolean =>
  result === 'acknowledged' || addresses.includes(address)

/** What is to be kept of answers; one that says what was said before stays what it was. */
const outcomesOf = (
  answers: readonly (FenceAnswer & { address: string })[],
  before: Fences['asked'],
  { chain, at }: Pick<FenceOutcome, 'chain' | 'at'>,
): Fences['asked'] =>
  Object.fromEntries(
    answers.map(({ address, result, text: said }) => {
      const text = said.slice(0, LONGEST_TEXT)
      const last = before[address]
      const same = last?.result === result && last.chain === chain && last.text === text
      return [address, same ? last : { result, text, chain, at }]
    }),
  )

/** Whether an address has to be asked, again. @param chain number of statements that can be shown now */
export const isDue = (before: FenceOutcome | undefined, chain: number): boolean =>
  before === undefined ||
  before.result === 'silent' ||
  before.result === 'refused' ||
  (before.result === 'denied' && chain > before.chain)

const hasGrown = (before: Member | undefined, after: Member): boolean =>
  after.statements.length !== (before?.statements.length ?? 0) ||
  after.statements.at(-1)?.signature !== before?.statements.at(-1)?.signature ||
  after.addresses.length !== (before?.addresses.length ?? 0)

/** Whom this cluster knows of its set. */
interface Known {
  self: Item<'member'> | undefined
  /** where others may be primaries */
  addresses: string[]
  keys: MemberKey[]
}

async function knownOf(
  record: ClusterRecord,
  { store, clock, deployment }: Pick<ChasePorts, 'store' | 'clock' | 'deployment'>,
): Promise<Known> {
  const [members, secondaries] = await Promise.all([
    store.list(partitions('member')),
    store.list(partitions('secondary')),
  ])
  const follows = secondariesOf(secondaries, record)
    .filter(({ contact }) => contact !== undefined && clock.now() - contact.at < FOLLOWS_MS)
    .map(({ address }) => address)
  const home = [record.clusterAddr, record.reachedAt, deployment.apiAddress, ...follows]
  const all = [
    ...members.flatMap(({ data }) => data.addresses),
    ...secondaries.map(({ data }) => data.address),
  ]
  const self = members.find(({ sk }) => sk === record.id)
  const admitted = secondaries.flatMap(({ data: { cluster = '', publicKey = '' } }) => {
    const keys = readPublicKey(publicKey)
    return keys ? [{ id: cluster, key: keys.signing.toString('base64') }] : []
  })
  return {
    self,
    addresses: [...new Set(all)].filter(one => one !== '' && !home.includes(one)),
    keys: [
      ...(self?.data.issuer ? [self.data.issuer] : []),
      ...members.flatMap(({ sk, data: { key: its } }) => (its === undefined ? [] : [{ id: sk, key: its }])),
      ...admitted,
    ],
  }
}

/** This cluster, as it shows itself. */
interface Showing extends Known {
  set: string
  id: string
  head: Head
  pair: LinkPair
}

async function claimantOf(
  { id, set, link, epoch }: ClusterRecord,
  known: Known,
  { journal, cipher }: Pick<ChasePorts, 'journal' | 'cipher'>,
): Promise<Showing | undefined> {
  const head = await journal.head()
  if (!link || set === undefined || head?.mode !== 'writing' || head.own !== epoch) return undefined
  return { ...known, set, id, head, pair: await decryptOwnKey(link.ownKey, cipher) }
}

async function ask(
  { set, id, head, pair, self, addresses, keys }: Showing,
  carry: Carry,
  { clock, entropy }: Pick<ChasePorts, 'clock' | 'entropy'>,
): Promise<FenceAnswer> {
  const { epoch, line } = head
  const chain = self?.data.statements ?? []
  const own = keysOf(pair).signing.toString('base64')
  const body = forms.Fence.question.write({ cluster: id, key: own, epoch, line, chain, addresses })
  const nonce = entropy.bytes(NONCE)
  const means = { signing: pair.signing, nonce, time: clock.now() }
  try {
    const answer = await carry('Fence', signCall('Fence', { set, from: id, line }, body, means), PATIENCE)
    return judgeFence(answer, nonce, { set, known: keys, chain, id, key: own })
  } catch (error) {
    return { result: 'silent', text: error instanceof Error ? error.message : String(error), addresses: [] }
  }
}
