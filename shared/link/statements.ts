import { type KeyObject, sign, verify } from 'node:crypto'
import type { MembershipStatement } from '../model/link.ts'
import { decodeBase64 } from '../values/base64.ts'
import { publicKeyFromRaw, RAW_KEY_BYTES } from '../values/raw-keys.ts'

/** The maximum number of statements in a chain. */
export const MAX_STATEMENT_CHAIN = 256

type Membership = Omit<MembershipStatement, 'signature'>

const textOf = ({ set, issuer, subject, key, epoch }: Membership): Buffer =>
  Buffer.from(JSON.stringify(['cloud-auth membership', set, issuer, subject, key, epoch]))

/** Signs a statement that a key belongs to a cluster of the set. */
export const signMemberStatement = (signing: KeyObject, membership: Membership): MembershipStatement => ({
  ...membership,
  signature: sign(null, textOf(membership), signing).toString('base64'),
})

/**
 * Reports whether a key signed a statement.
 * @param issuer raw Ed25519 key, 32 bytes
 */
export function isStatementSignedBy(
  issuer: Uint8Array,
  { signature, ...membership }: MembershipStatement,
): boolean {
  const bytes = decodeBase64(signature)
  return (
    bytes !== undefined &&
    issuer.length === RAW_KEY_BYTES &&
    verify(null, textOf(membership), publicKeyFromRaw('Ed25519', issuer), bytes)
  )
}
