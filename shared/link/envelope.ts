import { type KeyObject, sign, verify } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { JournalLineage } from '../journal/position.ts'
import { publicKeyFromRaw } from '../values/raw-keys.ts'
import { sha256 } from '../values/secret.ts'
import type { LinkMethod } from '../wire/carry.ts'
import {
  type Answer,
  AnswerSchema,
  type Call,
  CallSchema,
  type Envelope,
  EnvelopeSchema,
} from '../wire/gen/link_pb.ts'
import { checkMessageBounds } from './forms.ts'
import type { RefusalCode } from './source.ts'

/** The caller of a link call, and the lineage that the caller knows. */
export interface LinkCaller {
  /** UUID of the DR set */
  set: string
  /** `from` is the secondary's name; for a call by the primary, its cluster's UUID */
  from: string
  /** `lineage` of the source as the caller last received it; empty: the caller knows no lineage */
  lineage: JournalLineage
}

/** Sizes of a nonce and of a signature, bytes. */
const NONCE = 16
const SIGNATURE = 64

const digestOf = (lineage: JournalLineage): Buffer =>
  lineage.length === 0 ? Buffer.alloc(0) : sha256(JSON.stringify(lineage))

/** Reports whether the caller's lineage equals this lineage. A caller that knows no lineage yet matches any lineage. */
export const callerKnowsLineage = (
  envelope: Pick<Envelope, 'lineageDigest'>,
  lineage: JournalLineage,
): boolean => envelope.lineageDigest.length === 0 || digestOf(lineage).equals(envelope.lineageDigest)

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const callText = (
  method: LinkMethod,
  envelope: Omit<Envelope, 'signature' | '$typeName'>,
  body: Uint8Array,
): Buffer => {
  const { set, caller, epoch, lineageDigest, time, nonce } = envelope
  const facts = [
    method,
    set,
    caller,
    epoch,
    base64(lineageDigest),
    String(time),
    base64(nonce),
    base64(sha256(body)),
  ]
  return Buffer.from(JSON.stringify(['cloud-auth call', ...facts]))
}

/**
 * Signs a call.
 * @param time epoch milliseconds, later than that of every earlier call
 */
export function signLinkCall(
  method: LinkMethod,
  { set, from, lineage }: LinkCaller,
  body: Uint8Array,
  { signing, nonce, time }: { signing: KeyObject; nonce: Buffer; time: number },
): Call {
  const facts = {
    set,
    caller: from,
    epoch: lineage.at(-1)?.[0] ?? '',
    lineageDigest: digestOf(lineage),
    time: BigInt(time),
    nonce,
  }
  const signature = sign(null, callText(method, facts, body), signing)
  return create(CallSchema, { envelope: create(EnvelopeSchema, { ...facts, signature }), body })
}

/**
 * Returns the envelope of a call if all fields of the envelope exist and are within their bounds; otherwise
 * undefined.
 */
export function readCallEnvelope({ envelope, $unknown }: Call): Envelope | undefined {
  const known = envelope && !$unknown?.length && !envelope.$unknown?.length
  return known &&
    envelope.nonce.length === NONCE &&
    envelope.signature.length === SIGNATURE &&
    Number.isSafeInteger(Number(envelope.time)) &&
    isWithin(envelope)
    ? envelope
    : undefined
}

function isWithin(envelope: Envelope): boolean {
  try {
    return checkMessageBounds(EnvelopeSchema, envelope) === envelope
  } catch {
    return false
  }
}

/**
 * Reports whether a key signed a call.
 * @param key raw Ed25519 key, 32 bytes
 */
export const isLinkCallSignedBy = (
  key: Uint8Array,
  method: LinkMethod,
  envelope: Envelope,
  body: Uint8Array,
): boolean =>
  verify(null, callText(method, envelope, body), publicKeyFromRaw('Ed25519', key), envelope.signature)

/** Returns the milliseconds by which the caller's clock is ahead, according to the signed time. */
export const clockSkewOf = ({ time }: Pick<Envelope, 'time'>, now: number): number => Number(time) - now

/** The outcome of a link call: a body, or a refusal. */
export type LinkOutcome =
  | { kind: 'body'; body: Uint8Array }
  | { kind: 'refusal'; refusal: { code: RefusalCode; text: string; addresses: readonly string[] } }

const answerText = (method: LinkMethod, nonce: Uint8Array, time: bigint, outcome: LinkOutcome): Buffer => {
  const fields =
    outcome.kind === 'body'
      ? ['body', base64(sha256(outcome.body))]
      : ['refusal', outcome.refusal.code, outcome.refusal.text, ...outcome.refusal.addresses]
  return Buffer.from(JSON.stringify(['cloud-auth answer', method, base64(nonce), String(time), ...fields]))
}

/**
 * Signs an answer together with the nonce of its call.
 * @param signing absent: this cluster is in no set and has no key, so the caller cannot verify the answer
 */
export function signLinkAnswer(
  method: LinkMethod,
  nonce: Uint8Array,
  outcome: LinkOutcome,
  { signing, now }: { signing: KeyObject | undefined; now: number },
): Answer {
  const time = BigInt(now)
  const signature = signing ? sign(null, answerText(method, nonce, time, outcome), signing) : new Uint8Array()
  return create(AnswerSchema, {
    outcome:
      outcome.kind === 'body'
        ? { case: 'body', value: outcome.body }
        : { case: 'refusal', value: { ...outcome.refusal, addresses: [...outcome.refusal.addresses] } },
    time,
    signature,
  })
}

/** Returns the outcome in an answer to the call with this nonce; undefined if the key did not sign it. */
export function verifyLinkOutcome(
  key: Uint8Array,
  method: LinkMethod,
  nonce: Uint8Array,
  answer: Answer,
): LinkOutcome | undefined {
  const outcome = readUnverifiedLinkOutcome(answer)
  if (!outcome || answer.signature.length !== SIGNATURE) return undefined
  const text = answerText(method, nonce, answer.time, outcome)
  return verify(null, text, publicKeyFromRaw('Ed25519', key), answer.signature) ? outcome : undefined
}

/** Returns the outcome in an answer without verifying the signature. */
export function readUnverifiedLinkOutcome({ outcome }: Answer): LinkOutcome | undefined {
  if (outcome.case === 'body') return { kind: 'body', body: outcome.value }
  if (outcome.case !== 'refusal') return undefined
  const { code, text, addresses } = outcome.value
  return isRefusalCode(code) ? { kind: 'refusal', refusal: { code, text, addresses } } : undefined
}

const codes: readonly string[] = [
  'unauthenticated',
  'permission_denied',
  'failed_precondition',
  'unavailable',
  'invalid_argument',
] satisfies RefusalCode[]

const isRefusalCode = (code: string): code is RefusalCode => codes.includes(code)
