import type { KeyObject } from 'node:crypto'
import type { JournalLineage } from '../journal/position.ts'
import type { Clock, Entropy } from '../ports.ts'
import {
  type AddressRules,
  normaliseMemberAddress,
  normaliseMemberAddresses,
} from '../values/member-address.ts'
import { type CarryLinkCall, FrontAnswered, type LinkMethod } from '../wire/carry.ts'
import type { Answer } from '../wire/gen/link_pb.ts'
import { type LinkCaller, readUnverifiedLinkOutcome, signLinkCall, verifyLinkOutcome } from './envelope.ts'
import { linkMethodRow, type MethodQuestion, type MethodReply } from './methods.ts'
import { LinkRefused, LinkSilent, LinkUnbelieved, LinkUnsigned } from './source.ts'

/** One end of a link, with the keys and ports for calls to the other end. */
export interface LinkEnd {
  set: string
  /** `from` is the secondary's name; for a primary, its cluster's UUID */
  from: string
  signing: KeyObject
  /** `otherKey` is the other end's raw Ed25519 key. The caller accepts only answers signed by the other end's key. */
  otherKey: Uint8Array
}

export interface LinkCallContext {
  carry: CarryLinkCall
  clock: Pick<Clock, 'now'>
  entropy: Pick<Entropy, 'bytes'>
  /** the rules for addresses that other clusters send */
  rules: AddressRules
  /** epoch milliseconds: the deadline of all calls together; absent: each call has its own timeout */
  until?: number | undefined
}

/** Milliseconds that a link call may take if its row does not set a timeout. */
export const DEFAULT_CALL_TIMEOUT_MS = 10_000
const NONCE = 16

export type SendLinkCall = <M extends LinkMethod>(
  method: M,
  question: MethodQuestion<M>,
  lineage: JournalLineage,
) => Promise<{ reply: MethodReply<M>; time: number }>

/**
 * Returns a function that sends signed calls to the other end. The signed time grows with every call, so that no call
 * can be replayed.
 * @throws LinkRefused, LinkSilent, LinkUnsigned, LinkUnbelieved
 */
export function createLinkCallSender(
  { set, from, signing, otherKey }: LinkEnd,
  means: LinkCallContext,
): SendLinkCall {
  const { carry, clock, entropy, rules, until = Number.POSITIVE_INFINITY } = means
  let last = 0
  return async (method, question, lineage) => {
    const now = clock.now()
    last = Math.max(now, last + 1)
    const caller: LinkCaller = { set, from, lineage }
    const nonce = entropy.bytes(NONCE)
    const { forms, timeoutMs = DEFAULT_CALL_TIMEOUT_MS } = linkMethodRow(method)
    const body = forms.question.write(question)
    const call = signLinkCall(method, caller, body, { signing, nonce, time: last })
    const patience = Math.min(timeoutMs, until - now)
    if (patience <= 0) throw new LinkSilent(`no time is left for ${method}`)
    const answer = await carry(method, call, patience).catch((error: unknown) => {
      throw toLinkSilent(`no answer to ${method}`, error)
    })
    const outcome = verifyLinkOutcome(otherKey, method, nonce, answer)
    if (!outcome) throw describeUnverified(method, answer)
    if (outcome.kind === 'refusal') {
      const { code, text, addresses } = outcome.refusal
      throw new LinkRefused(code, text, normaliseMemberAddresses(addresses, rules))
    }
    // `forms` of a method reads the reply of the same method. TypeScript cannot see through the table that the
    // reply belongs to the method.
    const reply = readReply(() => forms.answer.read(outcome.body) as MethodReply<typeof method>)
    return { reply: dropUnusableAddresses(reply, rules), time: Number(answer.time) }
  }
}

/** Removes addresses from an answer that the address rules forbid. */
function dropUnusableAddresses<T extends object>(reply: T, rules: AddressRules): T {
  const addressed: {
    addresses?: readonly string[]
    memberAddresses?: readonly string[]
    apiAddress?: string
  } = reply
  return {
    ...reply,
    ...(addressed.addresses && { addresses: normaliseMemberAddresses(addressed.addresses, rules) }),
    ...(addressed.memberAddresses && {
      memberAddresses: normaliseMemberAddresses(addressed.memberAddresses, rules),
    }),
    ...(addressed.apiAddress !== undefined && {
      apiAddress: normaliseMemberAddress(addressed.apiAddress, rules) ?? '',
    }),
  }
}

function readReply<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new LinkSilent('the answer of the other cluster cannot be read', { cause: error })
  }
}

function toLinkSilent(text: string, cause: unknown): LinkSilent {
  if (cause instanceof LinkSilent) return cause
  const why = `${text}: ${cause instanceof Error ? cause.message : String(cause)}`
  return cause instanceof FrontAnswered ? new LinkUnsigned(why, { cause }) : new LinkSilent(why, { cause })
}

/**
 * Returns the error for an unverified answer. The error's text includes the answer's text, which may help to find
 * the fault.
 */
function describeUnverified(method: LinkMethod, answer: Answer): LinkSilent {
  const outcome = readUnverifiedLinkOutcome(answer)
  const quote = outcome?.kind === 'refusal' ? `; the answer said: ${outcome.refusal.text.slice(0, 200)}` : ''
  return answer.signature.length === 0
    ? new LinkUnsigned(`the answer to ${method} is not signed at all${quote}`)
    : new LinkUnbelieved(`the answer to ${method} is not signed by the key of this set's primary${quote}`)
}
