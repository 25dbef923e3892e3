import { ApiError } from '../../api/errors.ts'
import { BY_LINK, countRefusal, tellRefusals } from '../../journal/counted-refusals.ts'
import { denseUpTo } from '../../journal/density.ts'
import { wakePuller } from '../../journal/wake.ts'
import { type ClusterRecord, isRestoredCopy } from '../../model/cluster.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { revocationOf } from '../admin/holders.ts'
import { decryptOwnKey } from '../admin/keys.ts'
import type { Method } from '../carry.ts'
import { envelopeOf, type LinkOutcome, signAnswer } from '../envelope.ts'
import type { Answer, Call } from '../gen/link_pb.ts'
import { forms, questionIn, type Reply } from '../messages.ts'
import type { LinkPair } from '../pair.ts'
import {
  brokenInside,
  busyInside,
  inNoSet,
  notACall,
  notInitialised,
  servesNoCopy,
  termToCome,
} from '../refusals.ts'
import type { Answering } from '../routes.ts'
import { LinkRefused } from '../source.ts'
import { activate } from './activate.ts'
import { knownAddresses } from './addresses.ts'
import { faultOf, headFault, noticeFault } from './admission.ts'
import { echo } from './echo.ts'
import { fence } from './fence.ts'
import { handover } from './handover.ts'
import { sealedKeyring } from './keyring.ts'
import { type AdmittedCall, addressesOf, type LinkPorts } from './ports.ts'
import { cells, items, scan, tree } from './reading.ts'

/** Bytes of a name in an envelope. */
const LONGEST_NAME = 128

/**
 * The service of the link. Every answer is signed by this cluster's key, refusals too; nothing is thrown, for what
 * goes wrong is an answer as well.
 */
export function linkService(ports: LinkPorts): Answering {
  const keys = ownKeys(ports)

  async function begin(method: Method, call: Call, reachedAt: string): Promise<Asked> {
    const envelope = envelopeOf(call)
    if (!envelope || envelope.from === '' || Buffer.byteLength(envelope.from) > LONGEST_NAME) throw notACall()
    const now = ports.clock.now()
    const [record, secondary] = await ports.store.read([key('cluster'), key('secondary', envelope.from)])
    if (!record) throw notInitialised()
    if (method !== 'Fence' && isRestoredCopy(record.data, ports.deployment)) throw servesNoCopy()
    const pair = await keys(record.data)
    const { body } = call
    return { method, envelope, body, secondary, reachedAt, readAt: now, now, record: record.data, pair }
  }

  return async (method, call, reachedAt) => {
    const refusedFor = (error: unknown, addresses: string[]): LinkOutcome => {
      const { code, message: text } = refusalOf(error, method, ports)
      return { refusal: { code, text, addresses } }
    }
    const sign = (outcome: LinkOutcome, pair?: LinkPair): Answer => {
      const nonce = call.envelope?.nonce ?? new Uint8Array()
      return signAnswer(method, nonce, outcome, { signing: pair?.signing, now: ports.clock.now() })
    }
    let asked: Asked
    try {
      asked = await begin(method, call, reachedAt)
    } catch (error) {
      return sign(refusedFor(error, []))
    }
    const outcome = await counted(asked, ports).then(
      (body): LinkOutcome => ({ body }),
      async (error: unknown) => refusedFor(error, await addressesFor(asked, ports)),
    )
    return sign(outcome, asked.pair)
  }
}

/** Whoever is of this set is told where the others are, whatever it asked: it may be looking for them. */
const addressesFor = async (asked: Asked, ports: LinkPorts): Promise<string[]> =>
  asked.envelope.set === asked.record.set
    ? knownAddresses(asked, ports).catch(() => addressesOf(asked, ports))
    : addressesOf(asked, ports)

/** A guessed token and a fence that does not count leave entries in the audit log, counted: anybody may send them. */
const COUNTED: readonly Method[] = ['Activate', 'Fence']

async function counted(asked: Asked, ports: LinkPorts): Promise<Uint8Array> {
  const { method } = asked
  await tellRefusals(ports)
  try {
    return await answer(asked, ports)
  } catch (error) {
    const isJudged = error instanceof LinkRefused && error.code !== 'unavailable'
    if (isJudged && COUNTED.includes(method)) await countRefusal(BY_LINK, `${method} ${error.code}`, ports)
    throw error
  }
}

type Asked = Omit<AdmittedCall, 'pair' | 'set'> & { method: Method; pair: LinkPair | undefined }

async function answer(asked: Asked, ports: LinkPorts): Promise<Uint8Array> {
  const { method, record, secondary, now } = asked
  const facts = { record, secondary: secondary?.data, now, revokedAt: await revokedAt(secondary, ports) }
  if (method === 'Notify') {
    refuseFor(noticeFault(asked, facts))
    await wakePuller(ports, asked)
    return forms.Notify.answer.write({})
  }
  refuseFor(faultOf(asked, facts))
  const admitted = admittedFrom(asked)
  if (method === 'Activate') return forms.Activate.answer.write(await activate(ports, admitted))
  if (method === 'Fence') return forms.Fence.answer.write(await fence(ports, admitted))
  if (!secondary) throw new Error('a secondary that passed the checks is known')
  return answerSecondary(method, { ...admitted, secondary }, ports)
}

/** A revocation meets a cluster by its own id, whatever name it goes by. */
async function revokedAt(
  secondary: Item<'secondary'> | undefined,
  { store }: LinkPorts,
): Promise<number | undefined> {
  if (secondary?.data.cluster === undefined) return undefined
  return (await revocationOf(secondary.data.cluster, { store }))?.at
}

function admittedFrom({ pair, ...asked }: Asked): AdmittedCall {
  const { set } = asked.record
  if (!pair || set === undefined) throw inNoSet()
  return { ...asked, pair, set }
}

function refuseFor(fault: LinkRefused | undefined): void {
  if (fault) throw fault
}

async function answerSecondary(
  method: Exclude<Method, 'Activate' | 'Fence' | 'Notify'>,
  call: AdmittedCall & { secondary: Item<'secondary'> },
  ports: LinkPorts,
): Promise<Uint8Array> {
  const { journal } = ports
  const head = await journal.head()
  refuseFor(headFault(method, call.envelope, call.record, head))
  if (!head) throw new Error('a journal that serves has a head')
  const { body } = call
  switch (method) {
    case 'Echo':
      return forms.Echo.answer.write(await echo(ports, call, head))
    case 'Cells':
      return forms.Cells.answer.write(await cells(journal, questionIn('Cells', body)))
    case 'Items':
      return forms.Items.answer.write(await items(journal, questionIn('Items', body)))
    case 'Scan':
      return forms.Scan.answer.write(
        await scan(journal, questionIn('Scan', body), await denseUpTo(journal, head)),
      )
    case 'Tree': {
      const question = questionIn('Tree', body)
      return forms.Tree.answer.write(await tree(journal, question, call.record.treeId ?? call.set, call.now))
    }
    case 'Handover':
      return forms.Handover.answer.write(await handover(ports, call, head))
    case 'Keyring':
      return forms.Keyring.answer.write(await keyring(call, questionIn('Keyring', body).term, ports))
  }
}

async function keyring(
  call: AdmittedCall & { secondary: Item<'secondary'> },
  term: number,
  ports: LinkPorts,
): Promise<Reply<'Keyring'>> {
  const exported = await sealedKeyring(call, ports)
  if (exported.term < term) throw termToCome(term)
  return exported
}

/** What goes wrong here may pass; texts of other errors than our own stay here. */
function refusalOf(error: unknown, method: Method, { log }: LinkPorts): LinkRefused {
  if (error instanceof LinkRefused) {
    log.info('link', { method, code: error.code, refused: error.message })
    return error
  }
  log.error('link', { method, cause: error instanceof Error ? error.stack : String(error) })
  return error instanceof ApiError && error.code === 'busy' ? busyInside(error) : brokenInside()
}

/** This cluster's keys; they are decrypted once for every text of theirs. */
function ownKeys({ cipher }: Pick<LinkPorts, 'cipher'>) {
  let kept: { text: string; pair: Promise<LinkPair> } | undefined
  return async (record: ClusterRecord): Promise<LinkPair | undefined> => {
    if (!record.link) return undefined
    cipher.expect(record)
    const { ownKey } = record.link
    if (kept?.text === ownKey) return kept.pair
    const pair = decryptOwnKey(ownKey, cipher)
    kept = { text: ownKey, pair }
    pair.catch(() => {
      if (kept?.pair === pair) kept = undefined
    })
    return pair
  }
}
