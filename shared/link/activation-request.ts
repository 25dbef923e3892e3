import { type KeyObject, sign, verify } from 'node:crypto'
import { openSealedBox, sealBoxForKey } from '../storage/box.ts'
import { publicKeyFromRaw, RAW_KEY_BYTES } from '../values/raw-keys.ts'
import { readActivationClaims } from './activation-token.ts'
import type { LinkPublicKeys } from './pair.ts'
import { notAnActivationTokenError } from './refusals.ts'
import { type ActivateQuestion, activateMessageForms } from './role-messages.ts'
import { type ActivateRequest, LINK_FORMAT } from './source.ts'

/*
 * Seals an activation token to the exchange key that the token names, together with a proof that the cluster has
 * the private half of its signing key. Because the token is sealed, nobody who carries the request can use the
 * token with other keys.
 */

type Named = Pick<ActivateQuestion, 'token' | 'cluster' | 'signingKey' | 'exchangeKey'>

const NOTHING = Buffer.alloc(0)
const EMPTY: ActivateQuestion = {
  token: '',
  cluster: '',
  address: '',
  version: '',
  format: 0,
  sealed: '',
  signingKey: NOTHING,
  exchangeKey: NOTHING,
  proof: NOTHING,
  earlierProof: NOTHING,
}

const placeOf = (set: string) => ({ purpose: 'activation', set }) as const

const textOf = (set: string, { token, cluster, signingKey, exchangeKey }: Named): Buffer => {
  const keys = [signingKey, exchangeKey].map(one => one.toString('base64'))
  return Buffer.from(JSON.stringify(['cloud-auth activation', set, token, cluster, ...keys]))
}

/**
 * Signs the proof that a cluster with this id has these keys and hands in this token.
 * @param set UUID of the DR set
 */
const activationProof = (signing: KeyObject, set: string, named: Named): Buffer =>
  sign(null, textOf(set, named), signing)

/**
 * Reports whether a key made the proof of an activation request.
 * @param key raw Ed25519 key, 32 bytes
 */
export const isActivationProofOf = (key: Uint8Array, set: string, named: Named, proof: Uint8Array): boolean =>
  key.length === RAW_KEY_BYTES && verify(null, textOf(set, named), publicKeyFromRaw('Ed25519', key), proof)

/**
 * Returns the question that hands in an activation token, sealed to the key that the token names.
 * @throws LinkRefused for a text that is not an activation token
 */
export function makeActivationQuestion(
  { earlier, ...request }: ActivateRequest,
  { set, signing, keys }: { set: string; signing: KeyObject; keys: LinkPublicKeys },
  random: (length: number) => Buffer,
): ActivateQuestion {
  const named = {
    ...EMPTY,
    ...request,
    signingKey: keys.signing,
    exchangeKey: keys.exchange,
    format: LINK_FORMAT,
  }
  const recipient = readActivationClaims(request.token)?.exchangeKey
  if (recipient === undefined) throw notAnActivationTokenError()
  return sealActivationRequest(
    named,
    { set, recipient: Buffer.from(recipient, 'base64url') },
    { signing, earlier },
    random,
  )
}

/**
 * Seals a question with its proofs to one primary.
 * @param to raw X25519 key of the primary, and UUID of the DR set
 * @param by keys that sign proofs: the key that the question names, and a key that the primary already knows
 */
export function sealActivationRequest(
  named: ActivateQuestion,
  { set, recipient }: { set: string; recipient: Uint8Array },
  { signing, earlier }: { signing: KeyObject; earlier?: KeyObject | undefined },
  random: (length: number) => Buffer,
): ActivateQuestion {
  const proof = activationProof(signing, set, named)
  const earlierProof = earlier ? activationProof(earlier, set, named) : NOTHING
  const inner = activateMessageForms.question.write({ ...named, proof, earlierProof })
  const sealed = sealBoxForKey(recipient, placeOf(set), Buffer.from(inner).toString('base64'), random)
  return { ...EMPTY, format: named.format, sealed }
}

/**
 * Opens a sealed question. Returns undefined if the question was not sealed to this key for this set.
 * @param own X25519
 * @throws Error for malformed content
 */
export function openActivationRequest(
  own: KeyObject,
  set: string,
  sealed: string,
): ActivateQuestion | undefined {
  const text = openSealedBox(own, placeOf(set), sealed)
  return text === undefined ? undefined : activateMessageForms.question.read(Buffer.from(text, 'base64'))
}
