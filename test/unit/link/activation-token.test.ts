import { randomBytes, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  generateSignerKey,
  isTokenSignedBy,
  makeActivationJwt,
  openActivationToken,
  parseSignerKey,
  readActivationClaims,
  sealActivationToken,
} from '../../../shared/link/activation-token.ts'
import { pair, withOneBitChanged } from '../../builders/link.ts'

const signer = parseSignerKey(generateSignerKey())
const activation = {
  jti: 'one use',
  addr: 'https://a.example',
  iat: 1_700_000_000,
  exp: 1_700_001_800,
  id: 'us-west',
  set: 'a set',
  primaryKey: 'a key',
  exchangeKey: randomBytes(32).toString('base64url'),
}
const token = makeActivationJwt(signer, activation)
const partsOf = (text: string) => text.split('.') as [string, string, string]
const json = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('an activation token', () => {
  test('the token is a JWT of three parts, signed with ES512, with the claims that clients read', () => {
    const [header, claims, signature] = partsOf(token)
    expect(json(header)).toEqual({ alg: 'ES512', kid: '', typ: 'JWT' })
    expect(json(claims)).toEqual({
      jti: 'one use',
      addr: 'https://a.example',
      iat: 1_700_000_000,
      exp: 1_700_001_800,
      nbf: 1_699_999_995,
      type: 'wrapping',
      accessor: '',
      id: 'us-west',
      cluster_id: 'a set',
      primary_key: 'a key',
      exchange_key: activation.exchangeKey,
    })
    expect(Buffer.from(signature, 'base64url')).toHaveLength(132)
  })

  test('the token names set, secondary and keys', () => {
    expect(readActivationClaims(token)).toEqual({ ...activation, nbf: activation.iat - 5 })
  })

  test('the token is verified only by its signer’s key', () => {
    expect(isTokenSignedBy(signer, token)).toBe(true)
    expect(isTokenSignedBy(parseSignerKey(generateSignerKey()), token)).toBe(false)
  })

  test('a token with one changed bit is not verified', () => {
    const parts = partsOf(token)
    for (const [index, text] of parts.entries()) {
      for (const bytes of withOneBitChanged(Buffer.from(text, 'base64url'))) {
        const changed = parts.with(index, bytes.toString('base64url')).join('.')
        expect(isTokenSignedBy(signer, changed)).toBe(false)
      }
    }
  })

  const [header, claims, signature] = partsOf(token)
  const signedBy = (text: string) =>
    `${text}.${sign('sha512', Buffer.from(text), { key: signer, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`

  test.each([
    ['no signature', `${header}.${claims}.`],
    ['two parts', `${header}.${claims}`],
    ['four parts', `${token}.${signature}`],
    ['padding', `${token}=`],
    ['another algorithm', `${part({ alg: 'none', kid: '', typ: 'JWT' })}.${claims}.`],
    ['the header in another order', signedBy(`${part({ typ: 'JWT', alg: 'ES512', kid: '' })}.${claims}`)],
    [
      'a signature in DER',
      `${header}.${claims}.${sign('sha512', Buffer.from(`${header}.${claims}`), signer).toString('base64url')}`,
    ],
  ])('a token with %s is not verified', (_, text) => {
    expect(isTokenSignedBy(signer, text)).toBe(false)
  })

  const all = json(claims) as Record<string, unknown>
  test.each([
    ['another type', { ...all, type: 'performance' }],
    ['no id', { ...all, id: '' }],
    ['no exchange key', { ...all, exchange_key: undefined }],
    ['a shorter exchange key', { ...all, exchange_key: 'AAAA' }],
    ['a time that is a text', { ...all, exp: '1700001800' }],
    ['no object', []],
    ['nothing', null],
  ])('claims with %s are not an activation token', (_, value) => {
    expect(readActivationClaims(`${header}.${part(value)}.${signature}`)).toBeUndefined()
  })

  test.each(['', '.', '..', '...', 'a.b.c', `${header}.e30`, `${header}.${claims}.!`])(
    '%j is not an activation token',
    text => {
      expect(readActivationClaims(text)).toBeUndefined()
    },
  )

  test('a token sealed to a secondary has no dots, and is readable only by that secondary', () => {
    const own = pair()
    const sealed = sealActivationToken(own.keys.exchange, token, randomBytes)
    expect(sealed).not.toContain('.')
    expect(openActivationToken(own.exchange, sealed)).toBe(token)
    expect(openActivationToken(pair().exchange, sealed)).toBeUndefined()
    expect(openActivationToken(own.exchange, token)).toBeUndefined()
  })
})
