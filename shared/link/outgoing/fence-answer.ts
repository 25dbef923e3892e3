import type { FenceOutcome, Statement } from '../../model/link.ts'
import type { Answer } from '../../wire/gen/link_pb.ts'
import { readUnverifiedOutcome, verifyOutcome } from '../envelope.ts'
import { methods } from '../methods.ts'
import type { FenceReply } from '../role-messages.ts'
import { isStatementSignedBy } from '../statements.ts'
import { collectTrustedKeys, includesKey, type MemberKey } from '../trust.ts'

/** The result of a fence at one address. */
export interface FenceAnswer extends Pick<FenceOutcome, 'result' | 'text'> {
  /** the fenced cluster's statement about this cluster's key */
  voucher?: Statement
  /** addresses of the set from the answer */
  addresses: readonly string[]
}

/** The cluster that sent the fence. */
interface FenceCaller extends MemberKey {
  set: string
  /** keys of clusters that it has met */
  known: readonly MemberKey[]
  chain: readonly Statement[]
}

/**
 * Evaluates an answer to a fence. An acknowledgement counts if statements lead from a key that is known here to the
 * key that has signed it. A refusal brings no statements, so it counts only if its key is known.
 */
export function evaluateFenceAnswer(answer: Answer, nonce: Uint8Array, caller: FenceCaller): FenceAnswer {
  const outcome = readUnverifiedOutcome(answer)
  const isBy = (key: string): boolean =>
    verifyOutcome(Buffer.from(key, 'base64'), 'Fence', nonce, answer) !== undefined
  if (outcome?.kind === 'body') {
    const reply = methods.Fence.forms.answer.read(outcome.body)
    if (isMember(reply, caller) && isBy(reply.key)) return acknowledgement(reply, caller)
  }
  if (outcome?.kind === 'refusal' && caller.known.some(({ key }) => isBy(key))) {
    const { code, text, addresses } = outcome.refusal
    return { result: code === 'permission_denied' ? 'denied' : 'refused', text, addresses }
  }
  return { result: 'silent', text: 'the answer is signed by an unknown key', addresses: [] }
}

const isMember = ({ cluster: id, key, chain }: FenceReply, caller: FenceCaller): boolean =>
  includesKey(collectTrustedKeys(caller.set, caller.known, [...caller.chain, ...chain]), { id, key })

function acknowledgement(reply: FenceReply, { set, id, key }: FenceCaller): FenceAnswer {
  const { voucher, addresses, cluster, epoch, seq } = reply
  const isOurs =
    voucher.set === set &&
    voucher.issuer === cluster &&
    voucher.subject === id &&
    voucher.key === key &&
    isStatementSignedBy(Buffer.from(reply.key, 'base64'), voucher)
  return {
    result: 'acknowledged',
    text: `${cluster} has ended ${epoch} at ${seq}`,
    addresses,
    ...(isOurs ? { voucher } : {}),
  }
}
