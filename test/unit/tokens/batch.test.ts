import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { KeyringTerm } from '../../../shared/model/term.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { signBatchToken, splitSignedBatchToken } from '../../../shared/storage/signed-batch.ts'
import { readBatchToken } from '../../../shared/tokens/batch.ts'
import { exportRawPublicKey, privateKeyFromSeed } from '../../../shared/values/raw-keys.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'
import { item } from '../../support/tables/items.ts'
import { NOW, token } from './support.ts'

const [primary, former, thief] = [0, 1, 2].map(() => privateKeyFromSeed('Ed25519', randomBytes(32)))
const signerOf = (one: typeof primary) => ({
  cluster: 'c',
  key: exportRawPublicKey(one as never).toString('base64'),
})
const batch = token({ type: 'batch', hash: '' })
const content = JSON.stringify(batch)

const term = (parts: Partial<KeyringTerm>): Item<'term'> =>
  item(
    key('term', 'identity'),
    { number: 2, since: 0, probe: '2.x' as EncryptedText, signers: [], ...parts },
    'r',
  )
const signedBy = (one: typeof primary, text = content) => {
  const parts = splitSignedBatchToken(signBatchToken(one as never, text))
  return { term: 'identity', ...(parts ?? expect.unreachable()) }
}
const signers = [signerOf(former), signerOf(primary)]

describe('reading a batch token that the keyring decrypts', () => {
  test.each<[what: string, fault: string | undefined, ...given: Parameters<typeof readBatchToken>]>([
    ['signed by the primary', undefined, signedBy(primary), term({ signers })],
    ['signed by a former primary', undefined, signedBy(former), term({ signers })],
    ['signed by somebody else', 'batch-token-unsigned', signedBy(thief), term({ signers })],
    ['signed, of a term whose item is not here', 'batch-token-unsigned', signedBy(primary), undefined],
    ['signed, of a term that has no signers', 'batch-token-unsigned', signedBy(primary), term({})],
    ['of a retired term', 'term-retired', signedBy(primary), term({ signers, tokensUntil: NOW })],
    // the clock was set back after the key term was retired
    ['of a term retired later', 'term-retired', signedBy(primary), term({ signers, tokensUntil: NOW + 1 })],
    [
      'of root, whoever signed it',
      'batch-token-root',
      signedBy(primary, JSON.stringify({ ...batch, policies: ['a', 'root'] })),
      term({ signers }),
    ],
  ])('%s is read as: %s', (_, fault, ...given) =>
    expect(readBatchToken(...given)).toEqual(fault ? { fault } : { token: batch }),
  )

  test('a batch token whose content does not match its signature is rejected', () => {
    const other = { ...signedBy(primary), content: content.replace('"ttl":', '"ttl":9') }
    expect(readBatchToken(other, term({ signers }))).toEqual({ fault: 'batch-token-unsigned' })
  })

  test.each(['', '{', 'null', '7', '[]', '{}', '{"type":"batch"}', content.replace('"batch"', '"service"')])(
    'a batch token with the content %j is unreadable if signed, and unsigned otherwise',
    odd => {
      expect(readBatchToken(signedBy(primary, odd), term({ signers }))).toEqual({
        fault: 'batch-token-unreadable',
      })
      expect(readBatchToken(signedBy(thief, odd), term({ signers }))).toEqual({
        fault: 'batch-token-unsigned',
      })
    },
  )
})
