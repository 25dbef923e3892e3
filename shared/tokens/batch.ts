import { BATCH_TOKEN_PREFIX, isRootToken, type Token } from '../model/token.ts'
import type { FieldCipher, SealedToken } from '../ports.ts'
import type { Item } from '../storage/kinds.ts'
import { isBatchSignedByAny } from '../storage/signed-batch.ts'
import { isObject, parseJson } from '../values/json.ts'

/** Decrypts a batch token. @returns undefined if the keyring did not encrypt the text @param text as presented */
export const decryptBatchTokenText = (
  text: string,
  cipher: Pick<FieldCipher, 'decryptToken'>,
): Promise<SealedToken | undefined> => cipher.decryptToken(text.slice(BATCH_TOKEN_PREFIX.length))

type BatchFault = 'batch-token-root' | 'batch-token-unsigned' | 'batch-token-unreadable' | 'term-retired'

/**
 * Verifies and parses a batch token, or returns why no cluster accepts the token. The signature is verified before
 * the content is parsed, because a thief of the keyring can encrypt any content but cannot sign it. A retired term
 * stays retired whatever the clock says, because a clock that is set back would make its tokens valid again. Batch
 * tokens with the policy `root` are rejected, because no cluster issues them.
 * @param term the item of the term that encrypted the token
 * @see docs/spec/keys.md#batch-tokens
 */
export function readBatchToken(
  { content, signature }: SealedToken,
  term: Item<'term'> | undefined,
): { token: Token; fault?: never } | { token?: never; fault: BatchFault } {
  const { signers = [], tokensUntil } = term?.data ?? {}
  const keys = signers.map(({ key }) => key)
  if (!isBatchSignedByAny(keys, content, signature)) return { fault: 'batch-token-unsigned' }
  const token = tokenIn(content)
  if (!token) return { fault: 'batch-token-unreadable' }
  if (isRootToken(token)) return { fault: 'batch-token-root' }
  return tokensUntil === undefined ? { token } : { fault: 'term-retired' }
}

function tokenIn(content: string): Token | undefined {
  const read = parseJson(content)
  return isBatchToken(read) ? read : undefined
}

/** Reports whether a value has the fields that every check of a token reads. */
const isBatchToken = (value: unknown): value is Token =>
  isObject(value) &&
  value['type'] === 'batch' &&
  value['hash'] === '' &&
  [value['ttl'], value['createdAt'], value['depth']].every(Number.isFinite) &&
  [value['policies'], value['boundCidrs']].every(Array.isArray)
