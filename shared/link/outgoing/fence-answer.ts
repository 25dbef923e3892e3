import type { FenceOutcome, MembershipStatement } from '../../model/link.ts'
import type { Answer } from '../../wire/gen/link_pb.ts'
import { readUnverifiedLinkOutcome, verifyLinkOutcome } from '../envelope.ts'
import { linkMethods } from '../methods.ts'
import type { FenceReply } from '../role-messages.ts'
import { isStatementSignedBy } from '../statements.ts'
import { collectTrustedMemberKeys, includesMemberKey, type SetMemberKey } from '../trust.ts'

/** The result of a fence call to one address. */
export interface FenceAnswer extends Pick<FenceOutcome, 'result' | 'text'> {
  /** `voucher` is the fenced cluster's statement about this cluster's key */
  voucher?: MembershipStatement
  /** `addresses` of the set from the fence's answer */
  addresses: readonly string[]
}

/** The cluster that sent the fence. */
interface FenceCaller extends SetMemberKey {
  set: string
  /** `known`: keys of clusters that this cluster has met */
  known: readonly SetMemberKey[]
  chain: readonly MembershipStatement[]
}

/**
 * Evaluates an answer to a fence call. An acknowledgement counts if statements lead from a key that this cluster
 * knows to the key that has signed it. A refusal brings no statements, so it counts only if this cluster knows its
 * key.
 */
export function evaluateFenceAnswer(answer: Answer, nonce: Uint8Array, caller: FenceCaller): FenceAnswer {
  const outcome = readUnverifiedLinkOutcome(answer)
  const isBy = (key: string): boolean =>
    verifyLinkOutcome(Buffer.from(key, 'base64'), 'Fence', nonce, answer) !== undefined
  if (outcome?.kind === 'body') {
    const reply = linkMethods.Fence.forms.answer.read(outcome.body)
    if (isMember(reply, caller) && isBy(reply.key)) return acknowledgement(reply, caller)
  }
  if (outcome?.kind === 'refusal' && caller.known.some(({ key }) => isBy(key))) {
    const { code, text, addresses } = outcome.refusal
    return { result: code === 'permission_denied' ? 'denied' : 'refused', text, addresses }
  }
  return { result: 'silent', text: 'the answer is signed by an unknown key', addresses: [] }
}

const isMember = ({ cluster: id, key, chain }: FenceReply, caller: FenceCaller): boolean =>
  includesMemberKey(collectTrustedMemberKeys(caller.set, caller.known, [...caller.chain, ...chain]), {
    id,
    key,
  })

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
