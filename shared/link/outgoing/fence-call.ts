import type { JournalHead } from '../../journal/head.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { TermSigner } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { normaliseMemberAddresses } from '../../values/member-address.ts'
import type { CreateLinkCarrier } from '../../wire/carry.ts'
import { decryptOwnLinkKey } from '../admin/keys.ts'
import type { KnownSetMembers } from '../admin/known.ts'
import { signLinkCall } from '../envelope.ts'
import { linkMethods } from '../methods.ts'
import { type LinkKeyPairs, linkPublicKeysOf } from '../pair.ts'
import { evaluateFenceAnswer, type FenceAnswer } from './fence-answer.ts'

export type FencingPorts = Pick<
  Ports,
  'store' | 'journal' | 'cipher' | 'clock' | 'entropy' | 'log' | 'deployment'
>

const NONCE = 16

/** This cluster in the role of claimant, which fences other clusters. */
export interface FenceClaimant extends KnownSetMembers {
  set: string
  id: string
  head: JournalHead
  pair: LinkKeyPairs
  /**
   * `signers`: the key with which this cluster signs batch tokens; other clusters would learn this key only from
   * journal entries
   */
  signers: readonly TermSigner[]
}

/**
 * Reads the facts about this cluster in the role of claimant.
 * @returns undefined if this cluster does not write its own journal
 */
export async function readFenceClaimant(
  { id, set, link, epoch }: ClusterRecord,
  known: KnownSetMembers,
  { store, journal, cipher }: Pick<FencingPorts, 'store' | 'journal' | 'cipher'>,
): Promise<FenceClaimant | undefined> {
  const head = await journal.head()
  if (!link || set === undefined || head?.mode !== 'writing' || head.ownEpoch !== epoch) return undefined
  const [pair, signers] = await Promise.all([
    decryptOwnLinkKey(link.ownKey, cipher),
    readOwnSigners(id, { store }),
  ])
  return { ...known, set, id, head, pair, signers }
}

/**
 * Returns a cluster's signer for the term that encrypts; empty for a cluster that has just taken over and has no
 * signer yet.
 */
export async function readOwnSigners(
  id: string,
  { store }: Pick<FencingPorts, 'store'>,
): Promise<readonly TermSigner[]> {
  const [keyring] = await store.read([key('keyring')])
  const [term] = keyring ? await store.read([key('term', keyring.data.activeTerm ?? '')]) : []
  return (term?.data.signers ?? [])
    .filter(({ cluster }) => cluster === id)
    .map(signer => ({ term: term?.sk ?? '', key: signer.key }))
    .slice(-1)
}

/** The result of one fence call. */
export interface FenceCall extends FenceAnswer {
  address: string
  /** numbers of statements and of signers in the call */
  chain: number
  signers: number
  /** `isAnswered`: a cluster answered, signed by any key; after a promotion a cluster has a new key */
  isAnswered: boolean
}

/**
 * Calls `Fence` at an address. The function does not throw: an error becomes the result `silent`.
 * @param patience milliseconds that the call may take
 */
export async function sendFenceCall(
  { set, id, head, pair, self, selfAddress, addresses: others, keys, signers }: FenceClaimant,
  address: string,
  { to, patience }: { to: CreateLinkCarrier; patience: number },
  { clock, entropy, deployment }: Pick<FencingPorts, 'clock' | 'entropy' | 'deployment'>,
): Promise<FenceCall> {
  const { epoch, lineage } = head
  const chain = self?.data.statements ?? []
  const addresses = [selfAddress, ...others].filter(one => one !== '')
  const own = linkPublicKeysOf(pair).signing.toString('base64')
  const shown = { cluster: id, key: own, epoch, lineage, chain, addresses, signers }
  const body = linkMethods.Fence.forms.question.write(shown)
  const nonce = entropy.bytes(NONCE)
  const means = { signing: pair.signing, nonce, time: clock.now() }
  const called = { address, chain: chain.length, signers: signers.length }
  try {
    const call = signLinkCall('Fence', { set, from: id, lineage }, body, means)
    const answer = await to({ addresses: [address] })('Fence', call, patience)
    const judged = evaluateFenceAnswer(answer, nonce, { set, known: keys, chain, id, key: own })
    const usable = normaliseMemberAddresses(judged.addresses, deployment)
    return { ...judged, ...called, addresses: usable, isAnswered: true }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { result: 'silent', text, ...called, addresses: [], isAnswered: false }
  }
}
