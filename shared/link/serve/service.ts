import { ApiError } from '../../api/errors.ts'
import { countRefusal, logRefusalCounts, REFUSED_BY_LINK } from '../../journal/counted-refusals.ts'
import type { JournalHead } from '../../journal/head.ts'
import { type ClusterRecord, isRestoredCopy } from '../../model/cluster.ts'
import { type Item, key } from '../../storage/kinds.ts'
import type { LinkMethod } from '../../wire/carry.ts'
import type { Answer, Call } from '../../wire/gen/link_pb.ts'
import { readRevocation } from '../admin/holders.ts'
import { decryptOwnLinkKey } from '../admin/keys.ts'
import { type LinkOutcome, readCallEnvelope, signLinkAnswer } from '../envelope.ts'
import { linkMethodRow, readMethodQuestion } from '../methods.ts'
import type { LinkKeyPairs } from '../pair.ts'
import {
  clusterUninitialisedError,
  internalLinkError,
  linkBusyError,
  notALinkCallError,
  notInSetError,
  restoredCopyError,
} from '../refusals.ts'
import type { AnswerLinkCall } from '../routes.ts'
import { LinkRefused } from '../source.ts'
import { readMemberAddresses } from './addresses.ts'
import { findJournalHeadFault, findLinkCallFault } from './admission.ts'
import { linkMethodHandlers } from './handlers.ts'
import { type AdmittedLinkCall, type LinkServerPorts, ownAddressesOf } from './ports.ts'

/** Maximum bytes of a name in an envelope. */
const LONGEST_NAME = 128

/**
 * Creates the service of the link. The link's service signs every answer with this cluster's key, including
 * refusals. The link's service never throws: errors become signed refusals.
 */
export function createLinkService(ports: LinkServerPorts): AnswerLinkCall {
  const keys = cacheOwnKeys(ports)

  async function begin(method: LinkMethod, call: Call, reachedAt: string): Promise<Received> {
    const envelope = readCallEnvelope(call)
    if (!envelope || envelope.caller === '' || Buffer.byteLength(envelope.caller) > LONGEST_NAME)
      throw notALinkCallError()
    const now = ports.clock.now()
    const [record, secondary] = await ports.store.read([key('cluster'), key('secondary', envelope.caller)])
    if (!record) throw clusterUninitialisedError()
    if (!linkMethodRow(method).servedByCopies && isRestoredCopy(record.data, ports.deployment))
      throw restoredCopyError()
    const pair = await keys(record.data)
    const { body } = call
    return { method, envelope, body, secondary, reachedAt, readAt: now, now, record: record.data, pair }
  }

  return async (method, call, reachedAt) => {
    const refusedFor = (error: unknown, addresses: string[]): LinkOutcome => {
      const { code, message: text } = toRefusal(error, method, ports)
      return { kind: 'refusal', refusal: { code, text, addresses } }
    }
    const sign = (outcome: LinkOutcome, pair?: LinkKeyPairs): Answer => {
      const nonce = call.envelope?.nonce ?? new Uint8Array()
      return signLinkAnswer(method, nonce, outcome, { signing: pair?.signing, now: ports.clock.now() })
    }
    let received: Received
    try {
      received = await begin(method, call, reachedAt)
    } catch (error) {
      return sign(refusedFor(error, []))
    }
    const outcome = await answerAndCount(received, ports).then(
      (body): LinkOutcome => ({ kind: 'body', body }),
      async (error: unknown) => refusedFor(error, await readAddressesFor(received, ports)),
    )
    return sign(outcome, received.pair)
  }
}

/**
 * Returns the addresses that go with a refusal. Every caller of this set gets the addresses of all members, because
 * it may be looking for the primary.
 */
const readAddressesFor = async (asked: Received, ports: LinkServerPorts): Promise<string[]> =>
  asked.envelope.set === asked.record.set
    ? readMemberAddresses(asked, ports).catch(() => ownAddressesOf(asked, ports))
    : ownAddressesOf(asked, ports)

async function answerAndCount(asked: Received, ports: LinkServerPorts): Promise<Uint8Array> {
  const { method } = asked
  await logRefusalCounts(ports)
  try {
    return await answer(asked, ports)
  } catch (error) {
    const isJudged = error instanceof LinkRefused && error.code !== 'unavailable'
    if (isJudged && linkMethodRow(method).countsRefusals)
      await countRefusal(REFUSED_BY_LINK, `${method} ${error.code}`, ports)
    throw error
  }
}

type Received = Omit<AdmittedLinkCall, 'pair' | 'set'> & {
  method: LinkMethod
  pair: LinkKeyPairs | undefined
}

async function answer(received: Received, ports: LinkServerPorts): Promise<Uint8Array> {
  const { method, body, record, secondary, now } = received
  const facts = { record, secondary: secondary?.data, now, revokedAt: await revokedAt(secondary, ports) }
  throwIfRefused(findLinkCallFault(received, facts))
  const admitted = admittedFrom(received)
  const head = linkMethodRow(method).by === 'secondary' ? await readCheckedHead(received, ports) : undefined
  const asked = { ...admitted, head, question: readMethodQuestion(method, body) }
  // The handler fits the question and the answer of its method. TypeScript cannot see through the table that the
  // handler fits.
  const handle = linkMethodHandlers[method] as (ports: LinkServerPorts, call: unknown) => Promise<unknown>
  return linkMethodRow(method).forms.answer.write(await handle(ports, asked))
}

/**
 * Returns when a cluster was revoked. The revocation is stored by UUID, so it counts under every name of the
 * cluster.
 */
async function revokedAt(
  secondary: Item<'secondary'> | undefined,
  { store }: LinkServerPorts,
): Promise<number | undefined> {
  if (secondary?.data.cluster === undefined) return undefined
  return (await readRevocation(secondary.data.cluster, { store }))?.at
}

function admittedFrom({ pair, ...received }: Received): AdmittedLinkCall {
  const { set } = received.record
  if (!pair || set === undefined) throw notInSetError()
  return { ...received, pair, set }
}

/**
 * Returns the head of the journal.
 * @throws LinkRefused if the journal does not serve the call
 */
async function readCheckedHead(
  { method, envelope, record }: Received,
  { journal }: LinkServerPorts,
): Promise<JournalHead> {
  const head = await journal.head()
  throwIfRefused(findJournalHeadFault(method, envelope, record, head))
  if (!head) throw new Error('the journal has no head')
  return head
}

function throwIfRefused(fault: LinkRefused | undefined): void {
  if (fault) throw fault
}

/**
 * Converts an error to a refusal of a link call. An unexpected error becomes `unavailable`, and only texts of our
 * own errors leave the cluster.
 */
function toRefusal(error: unknown, method: LinkMethod, { log }: LinkServerPorts): LinkRefused {
  if (error instanceof LinkRefused) {
    log.info('link', { method, code: error.code, refused: error.message }, { LinkRefusals: 1 })
    return error
  }
  log.error('link', { method, cause: error instanceof Error ? error.stack : String(error) })
  return error instanceof ApiError && error.code === 'busy' ? linkBusyError(error) : internalLinkError()
}

/** Decrypts this cluster's keys once for each stored text. */
function cacheOwnKeys({ cipher }: Pick<LinkServerPorts, 'cipher'>) {
  let kept: { text: string; pair: Promise<LinkKeyPairs> } | undefined
  return async (record: ClusterRecord): Promise<LinkKeyPairs | undefined> => {
    if (!record.link) return undefined
    cipher.expectKeyring(record)
    const { ownKey } = record.link
    if (kept?.text === ownKey) return kept.pair
    const pair = decryptOwnLinkKey(ownKey, cipher)
    kept = { text: ownKey, pair }
    pair.catch(() => {
      if (kept?.pair === pair) kept = undefined
    })
    return pair
  }
}
