import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  isTokenSignedBy,
  openActivationToken,
  parseSignerKey,
  readActivationClaims,
} from '../../../../shared/link/activation-token.ts'
import {
  type ActivationTokenItems,
  activationTokenItemKeys,
  hashJti,
  isSecondaryNameTaken,
  makeActivationToken,
} from '../../../../shared/link/admin/activation.ts'
import { formatLinkPublicKeys } from '../../../../shared/link/pair.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import type { Change } from '../../../../shared/storage/changes.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { pair } from '../../../builders/link.ts'

const primary = pair()
const entropy = { bytes: randomBytes, uuid: randomUUID }
/** A cipher that reverses texts. */
const cipher = {
  encrypt: async (_: unknown, __: string, text: string) => text as never,
  decrypt: async (_: unknown, __: string, text: string) => new Secret(text),
}
const request = {
  id: 'us-west',
  set: 'a set',
  address: 'https://a.example',
  ttl: 1_800_000,
  epoch: '000001.aaaaaaaaaaaa',
  now: 1_700_000_000_500,
}
const none: ActivationTokenItems = { secondary: undefined, tokenKey: undefined }

const made = (more: object = {}, items = none) =>
  makeActivationToken({ ...request, ...more }, items, primary, { cipher, entropy })
const stored = (changes: readonly Change[], kind: string) =>
  changes.flatMap(one => (one.kind === 'put' && one.key.kind === kind ? [one] : []))
const item = (data: Secondary): Item<'secondary'> => ({ ...key('secondary', data.id), rev: 'r', data })

test('a new token depends on its secondary’s item and on the key that signs', () => {
  expect(activationTokenItemKeys('us-west')).toEqual([key('secondary', 'us-west'), key('token-key')])
})

describe('a new activation token', () => {
  test('the token names the primary, the set, the secondary and its expiry, and is stored only as a hash', async () => {
    const { token, expires, changes } = await made()
    const claims = readActivationClaims(token.reveal())
    expect(claims).toMatchObject({
      addr: 'https://a.example',
      id: 'us-west',
      set: 'a set',
      iat: 1_700_000_000,
      exp: 1_700_001_800,
      primaryKey: primary.keys.signing.toString('base64url'),
    })
    expect(expires).toBe(request.now + request.ttl)
    const [secondary] = stored(changes, 'secondary')
    expect(secondary).toMatchObject({
      expected: 'absent',
      data: {
        id: 'us-west',
        createdAt: request.now,
        expires,
        jti: hashJti(claims?.jti ?? ''),
        lastCallTime: 0,
      },
    })
    expect(JSON.stringify(changes)).not.toContain(claims?.jti)
  })

  test('the first token makes the signing key, and later tokens use it', async () => {
    const first = await made()
    const [signer] = stored(first.changes, 'token-key')
    const data = (signer as unknown as { data: { key: never } }).data
    const tokenKey: Item<'token-key'> = { ...key('token-key'), rev: 'r', data }
    const second = await made({}, { ...none, tokenKey })
    expect(stored(second.changes, 'token-key')).toEqual([])
    for (const { token } of [first, second])
      expect(isTokenSignedBy(parseSignerKey(data.key), token.reveal())).toBe(true)
    expect(first.token.reveal()).not.toBe(second.token.reveal())
  })

  test('a token for a public key is readable only by that secondary, and its keys are stored', async () => {
    const own = pair()
    const { token, changes } = await made({ publicKey: formatLinkPublicKeys(own.keys) })
    expect(readActivationClaims(token.reveal())).toBeUndefined()
    expect(readActivationClaims(openActivationToken(own.exchange, token.reveal()) ?? '')).toMatchObject({
      id: 'us-west',
    })
    expect(stored(changes, 'secondary')[0]).toMatchObject({
      data: { publicKey: formatLinkPublicKeys(own.keys) },
    })
  })

  test('a new token replaces a revoked token of the same name, and no other token', async () => {
    const [first] = stored((await made()).changes, 'secondary')
    const data = (first as unknown as { data: Secondary }).data
    const revoked = item({ ...data, revokedAt: 5, cluster: 'c' })
    expect(isSecondaryNameTaken({ ...none, secondary: item(data) }, request)).toBe(true)
    expect(isSecondaryNameTaken({ ...none, secondary: item(data) }, {})).toBe(false)
    expect(isSecondaryNameTaken({ ...none, secondary: revoked }, request)).toBe(false)
    const [again] = stored((await made({}, { ...none, secondary: revoked })).changes, 'secondary')
    expect(again).toMatchObject({ expected: { rev: 'r' } })
    expect(again).not.toHaveProperty('data.revokedAt')
    expect(again).not.toHaveProperty('data.cluster')
  })
})
