import { BATCH_PREFIX, isRoot, type Token } from '../model/token.ts'
import type { FieldCipher, SealedToken } from '../ports.ts'
import type { Item } from '../storage/kinds.ts'
import { isSignedByOne } from '../storage/signed-batch.ts'

/** A batch token that our keyring sealed; whether it counts is told by the item of the term. */
export interface BatchToken {
  token: Token
  sealed: SealedToken
}

/** Undefined for what the keyring did not seal. @param text as presented */
export async function openBatch(
  text: string,
  cipher: Pick<FieldCipher, 'decryptToken'>,
): Promise<BatchToken | undefined> {
  const sealed = await cipher.decryptToken(text.slice(BATCH_PREFIX.length))
  return sealed && { token: JSON.parse(sealed.content) as Token, sealed }
}

/**
 * Why a batch token counts nowhere, whatever it says of itself: who only holds the keyring has no signer, and what a
 * retired term sealed has ended, whatever the clock says: one that was set back would bring it back. One of `root` is made
 * by nobody but a thief.
 * @param term the item of the term that sealed it
 * @see docs/spec/keys.md#batch-tokens
 */
export function batchFault(
  { token, sealed }: BatchToken,
  term: Item<'term'> | undefined,
): 'batch-token-root' | 'batch-token-unsigned' | 'term-retired' | undefined {
  if (isRoot(token)) return 'batch-token-root'
  const { signers = [], tokensUntil } = term?.data ?? {}
  const { content, signature } = sealed
  const keys = signers.map(({ key }) => key)
  if (signature && !isSignedByOne(keys, content, signature)) return 'batch-token-unsigned'
  return tokensUntil === undefined ? undefined : 'term-retired'
}
