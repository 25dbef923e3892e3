import type { Head } from '../../journal/head.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { FenceOutcome, Fences, Member } from '../../model/link.ts'
import { isNewlyPromoted } from '../../model/operation.ts'
import type { Ports } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { memberAddresses } from '../../values/member-address.ts'
import type { Carry, CarryTo } from '../../wire/carry.ts'
import { decryptOwnKey } from '../admin/keys.ts'
import { type Known, readKnown } from '../admin/known.ts'
import { signCall } from '../envelope.ts'
import { addVouchers } from '../membership.ts'
import { methods } from '../methods.ts'
import { keysOf, type LinkPair } from '../pair.ts'
import { type FenceAnswer, judgeFence } from './fence-answer.ts'

export type FencingPorts = Pick<
  Ports,
  'store' | 'journal' | 'cipher' | 'clock' | 'entropy' | 'log' | 'deployment'
>

/** Milliseconds between two rounds of calls after a promotion. */
const QUICK_MS = 2000
/** Milliseconds that a call may take in later rounds: commits refuse a cluster record that was read 20 s before. */
const FENCE_TIMEOUT_MS = 10_000
/** How often a cluster that has asked checks whether it was fenced. */
const LOOK_MS = 50
const NONCE = 16
/** Characters of an answer that are kept. */
const LONGEST_TEXT = 300

/**
 * Makes every other primary of the set end its epoch: calls `Fence` at each known address of the set until the cluster there
 * acknowledges. A cluster that denies is called again as soon as there are more statements. Rounds follow every two seconds
 * for ten minutes after a promotion; otherwise there is one. Does nothing if this cluster is not a primary.
 * @param deadline epoch milliseconds: until then
 */
export async function fenceOthers(ports: FencingPorts, to: CarryTo, deadline: number): Promise<void> {
  const { clock } = ports
  for (;;) {
    const began = clock.now()
    const { again, learnt } = await askAround(ports, to, 'due')
    if (!again && !learnt) return
    if (!learnt) await clock.sleep(Math.max(0, Math.min(began + QUICK_MS, deadline) - clock.now()))
    if (clock.now() >= deadline) return
  }
}

/**
 * What a primary does before it serves, after it was stopped or asleep: it calls all known addresses at once, and waits up to
 * two seconds to be fenced by a later primary. Then it serves, because the others may be gone for good.
 */
export async function askBeforeServing(ports: FencingPorts, to: CarryTo): Promise<void> {
  const { clock, journal } = ports
  const until = clock.now() + QUICK_MS
  const { answered } = await askAround(ports, to, 'all')
  if (!answered) return
  // a cluster with a later epoch now knows the address of this one
  while (clock.now() < until && (await journal.head())?.mode === 'writing') await clock.sleep(LOOK_MS)
}

/** The result of one round. */
interface Round {
  /** another round is needed soon */
  again: boolean
  /** there are more statements or addresses than before */
  learnt: boolean
  /** some cluster answered, by whatever key: one that was promoted since has a new key */
  answered: boolean
}

const NOTHING: Round = { again: false, learnt: false, answered: false }

/** One round: calls all addresses at once. @param whom `all`: whatever they answered before, followers included */
async function askAround(ports: FencingPorts, to: CarryTo, whom: 'due' | 'all'): Promise<Round> {
  const { store, clock, log } = ports
  const readAt = clock.now()
  const [record, fences, promoted] = await store.read([key('cluster'), key('fences'), key('promoted')])
  if (record?.data.mode !== 'primary') return NOTHING
  const quick = isNewlyPromoted(promoted?.data, readAt)
  const known = await readKnown(record.data, ports, whom)
  const before = (fences?.data.epoch === record.data.epoch && fences?.data.asked) || {}
  const chain = known.self?.data.statements.length ?? 0
  const due = known.addresses.filter(one => whom === 'all' || isDue(before[one], chain))
  const kept = Object.entries(before).filter(([address, one]) => isNews(address, one, known))
  if (due.length === 0 && kept.length === Object.keys(before).length) return NOTHING
  const claimant = await claimantOf(record.data, known, ports)
  if (!claimant) return NOTHING
  const patience = quick || whom === 'all' ? QUICK_MS : FENCE_TIMEOUT_MS
  const answers = await Promise.all(
    due.map(async address => ({
      address,
      ...(await ask(claimant, to({ addresses: [address] }), patience, ports)),
    })),
  )
  const asked = { ...Object.fromEntries(kept), ...outcomesOf(answers, before, { chain, at: clock.now() }) }
  const changed = Object.entries(asked).filter(([address, one]) => before[address] !== one)
  for (const [address, { result, text }] of changed) log.info('fence', { address, result, text })
  const next: Fences = { epoch: claimant.head.epoch, asked }
  const mine = addVouchers(known.self?.data, {
    vouchers: answers.flatMap(({ voucher }) => (voucher ? [voucher] : [])),
    addresses: answers.flatMap(({ addresses }) => addresses),
  })
  const learnt = hasGrown(known.self?.data, mine)
  const changes = [
    ...(changed.length > 0 || kept.length < Object.keys(before).length
      ? [replace(key('fences'), fences, next)]
      : []),
    ...(learnt ? [replace(key('member', record.data.id), known.self, mine)] : []),
  ]
  // another run was faster, and has asked as well: the rest is for the next round
  if (changes.length > 0) await store.commit(changes, { record: record.data, readAt })
  const grown = mine.statements.length
  const again = quick && due.some(address => isDue(asked[address], grown))
  return { again, learnt, answered: answers.some(({ heard }) => heard) }
}

/** Acknowledged ends are kept; other answers of clusters that follow this one now are dropped. */
const isNews = (address: string, { result }: FenceOutcome, { addresses }: Known): boolean =>
  result === 'acknowledged' || addresses.includes(address)

/** The answers to store; an answer that equals the stored one leaves it unchanged. */
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

/** Whether an address has to be called again. @param chain number of statements that this cluster has now */
export const isDue = (before: FenceOutcome | undefined, chain: number): boolean =>
  before === undefined ||
  before.result === 'silent' ||
  before.result === 'refused' ||
  (before.result === 'denied' && chain > before.chain)

const hasGrown = (before: Member | undefined, after: Member): boolean =>
  after.statements.length !== (before?.statements.length ?? 0) ||
  after.statements.at(-1)?.signature !== before?.statements.at(-1)?.signature ||
  after.addresses.length !== (before?.addresses.length ?? 0)

/** This cluster as claimant. */
interface Showing extends Known {
  set: string
  id: string
  head: Head
  pair: LinkPair
}

async function claimantOf(
  { id, set, link, epoch }: ClusterRecord,
  known: Known,
  { journal, cipher }: Pick<FencingPorts, 'journal' | 'cipher'>,
): Promise<Showing | undefined> {
  const head = await journal.head()
  if (!link || set === undefined || head?.mode !== 'writing' || head.own !== epoch) return undefined
  return { ...known, set, id, head, pair: await decryptOwnKey(link.ownKey, cipher) }
}

async function ask(
  { set, id, head, pair, self, home, addresses: others, keys }: Showing,
  carry: Carry,
  patience: number,
  { clock, entropy, deployment }: Pick<FencingPorts, 'clock' | 'entropy' | 'deployment'>,
): Promise<FenceAnswer & { heard: boolean }> {
  const { epoch, lineage } = head
  const chain = self?.data.statements ?? []
  const addresses = [home, ...others].filter(one => one !== '')
  const own = keysOf(pair).signing.toString('base64')
  const body = methods.Fence.forms.question.write({ cluster: id, key: own, epoch, lineage, chain, addresses })
  const nonce = entropy.bytes(NONCE)
  const means = { signing: pair.signing, nonce, time: clock.now() }
  try {
    const answer = await carry('Fence', signCall('Fence', { set, from: id, lineage }, body, means), patience)
    const judged = judgeFence(answer, nonce, { set, known: keys, chain, id, key: own })
    return { ...judged, addresses: memberAddresses(judged.addresses, deployment), heard: true }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { result: 'silent', text, addresses: [], heard: false }
  }
}
