import { createHmac, sign } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAwsIssuer } from '../../../shared/identity-proof/aws-issuer.ts'
import { parseKeySet } from '../../../shared/identity-proof/jwk.ts'
import { parseJwt, verifyJwt } from '../../../shared/identity-proof/jwt.ts'
import {
  ecKey,
  encoded,
  ISSUER,
  ISSUER_ID,
  NOW,
  privateKeys,
  publicJwks,
  rsaKey,
  signToken,
  usualClaims,
  usualHeader,
} from '../../builders/web-token.ts'

const whyOf = (text: string): string => {
  const read = parseJwt(text)
  return read.ok ? 'accepted' : read.fault.why
}
const { iat: _, ...withoutIat } = usualClaims
const AWS_CLAIMS = 'https://sts.amazonaws.com/'
const withPrincipal = (principal_id: unknown) =>
  signToken({ ...usualClaims, [AWS_CLAIMS]: { ...usualClaims[AWS_CLAIMS], principal_id } })
const [head = '', body = '', tail = ''] = signToken().split('.')
const json = JSON.stringify(usualClaims)

test('a token of the usual form is read with its claims', () => {
  const read = parseJwt(signToken())
  expect(read).toMatchObject({
    ok: true,
    value: {
      alg: 'RS256',
      kid: 'RSA_0',
      issuer: { id: ISSUER_ID, partition: 'aws' },
      audiences: ['https://cloud-auth.example'],
      iat: NOW,
      exp: NOW + 300,
    },
  })
})

describe('the form of a token', () => {
  const rows: [string, string, string][] = [
    ['alg none', signToken(usualClaims, { ...usualHeader, alg: 'none' }), 'jwt-algorithm'],
    ['alg None', signToken(usualClaims, { ...usualHeader, alg: 'None' }), 'jwt-algorithm'],
    ['alg HS256', signToken(usualClaims, { ...usualHeader, alg: 'HS256' }), 'jwt-algorithm'],
    ['no alg', signToken(usualClaims, { kid: 'RSA_0' }), 'jwt-form'],
    ['no kid', signToken(usualClaims, { alg: 'RS256' }), 'jwt-form'],
    ['a long kid', signToken(usualClaims, { ...usualHeader, kid: 'a'.repeat(65) }), 'jwt-form'],
    ['a path as kid', signToken(usualClaims, { ...usualHeader, kid: '../x' }), 'jwt-form'],
    ['another typ', signToken(usualClaims, { ...usualHeader, typ: 'at+jwt' }), 'jwt-form'],
    ...['jku', 'jwk', 'x5u', 'x5c', 'x5t', 'x5t#S256', 'crit', 'b64', 'zip', 'cty'].map(
      (name): [string, string, string] => [
        `the header ${name}`,
        signToken(usualClaims, { ...usualHeader, [name]: false }),
        'jwt-form',
      ],
    ),
    ['two parts', `${head}.${body}`, 'jwt-form'],
    ['four parts', `${head}.${body}.${tail}.x`, 'jwt-form'],
    ['an empty signature', `${head}.${body}.`, 'jwt-form'],
    ['JSON serialisation', JSON.stringify({ payload: body, signatures: [] }), 'jwt-form'],
    ['padding', `${head}=.${body}.${tail}`, 'jwt-form'],
    ['a stray bit', `${head}.${body}.${tail.slice(0, -1)}B`, 'jwt-form'],
    ['standard base64', `${head}.${body}.${'+/'.repeat(20)}`, 'jwt-form'],
    ['a line break', `${head}.${body}.${tail}\n`, 'jwt-form'],
    ['invalid UTF-8', `${head}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${tail}`, 'jwt-form'],
    [
      'invalid UTF-8 in a text',
      `${head}.${Buffer.concat([
        Buffer.from(`${json.slice(0, -1)},"pad":"`),
        Buffer.from([0xff]),
        Buffer.from('"}'),
      ]).toString('base64url')}.${tail}`,
      'jwt-form',
    ],
    ['a byte order mark', `${head}.${encoded(`\uFEFF${json}`)}.${tail}`, 'jwt-form'],
    ['a list as claims', signToken([usualClaims]), 'jwt-form'],
    ['a key twice', signToken(`${json.slice(0, -1)},"sub":"x"}`), 'jwt-form'],
    ['a key twice by an escape', signToken(`${json.slice(0, -1)},"\\u0073ub":"x"}`), 'jwt-form'],
    ['exp as a text', signToken({ ...usualClaims, exp: String(NOW) }), 'jwt-form'],
    ['exp as a fraction', signToken({ ...usualClaims, exp: NOW + 0.5 }), 'jwt-form'],
    ['exp of 2^53', signToken(json.replace(`"exp":${NOW + 300}`, '"exp":9007199254740992')), 'jwt-form'],
    ['a huge number', signToken(json.replace(`"exp":${NOW + 300}`, '"exp":1e999')), 'jwt-form'],
    ['no iat', signToken(withoutIat), 'jwt-form'],
    ['an empty jti', signToken({ ...usualClaims, jti: '' }), 'jwt-form'],
    ['a jti with a blank', signToken({ ...usualClaims, jti: 'a b' }), 'jwt-form'],
    ['no audience', signToken({ ...usualClaims, aud: [] }), 'jwt-form'],
    ['eleven audiences', signToken({ ...usualClaims, aud: Array(11).fill('a') }), 'jwt-form'],
    ['no claims of AWS', signToken({ ...usualClaims, 'https://sts.amazonaws.com/': undefined }), 'jwt-form'],
    ['aud as a list of a number', signToken({ ...usualClaims, aud: [1] }), 'jwt-form'],
    ['an empty audience', signToken({ ...usualClaims, aud: '' }), 'jwt-form'],
    ['an empty sub', signToken({ ...usualClaims, sub: '' }), 'jwt-form'],
    ['a sub of 2,049 characters', signToken({ ...usualClaims, sub: 'a'.repeat(2049) }), 'jwt-form'],
    ['a negative iat', signToken({ ...usualClaims, iat: -1 }), 'jwt-form'],
    ['nbf as a text', signToken({ ...usualClaims, nbf: String(NOW) }), 'jwt-form'],
    ['deep nesting', signToken({ ...usualClaims, pad: [[[[[[[[]]]]]]]] }), 'jwt-form'],
    ['33 KiB', signToken({ ...usualClaims, pad: 'a'.repeat(33 * 1024) }), 'jwt-form'],
    ['a subject of another provider', withPrincipal(`${usualClaims.sub}-other`), 'jwt-subject'],
    ['no principal', withPrincipal(undefined), 'jwt-subject'],
    ['a principal that is no text', withPrincipal(null), 'jwt-subject'],
    ['another issuer', signToken({ ...usualClaims, iss: 'https://accounts.google.com' }), 'jwt-issuer'],
  ]
  test.each(rows)('with %s is refused', (_name, text, why) => expect(whyOf(text)).toBe(why))
})

test.each([
  ISSUER.toUpperCase(),
  ISSUER.replace('https', 'http'),
  ISSUER.replace('https', 'HTTPS'),
  `${ISSUER}:443`,
  `${ISSUER}/`,
  `${ISSUER}.`,
  `${ISSUER}/path`,
  ISSUER.replace('https://', 'https://user@'),
  `${ISSUER}.evil.example`,
  ISSUER.replace('api.aws', 'api.awѕ'),
  ISSUER.replace(ISSUER_ID, ISSUER_ID.slice(1)),
  ISSUER.replace(ISSUER_ID, `${ISSUER_ID}5`),
  ISSUER.replace(ISSUER_ID, ISSUER_ID.replace('1', 'A')),
  `${ISSUER}.cn`,
])('the issuer %s is refused', iss => expect(parseAwsIssuer(iss)).toBeUndefined())

test('the issuer of an account in China has a name of its own', () => {
  const iss = `https://${ISSUER_ID}.tokens.sts.global.api.amazonwebservices.com.cn`
  expect(parseAwsIssuer(iss)).toEqual({ id: ISSUER_ID, partition: 'aws-cn' })
})

describe('a signature', () => {
  const ecHeader = { kid: 'EC384_0', typ: 'JWT', alg: 'ES384' }
  const ecToken = signToken(usualClaims, ecHeader, 'ES384')
  const verified = (text: string, key = rsaKey): boolean => {
    const read = parseJwt(text)
    return read.ok && verifyJwt(read.value, key) !== undefined
  }
  const withSignature = (text: string, signature: Buffer): string =>
    `${text.split('.').slice(0, 2).join('.')}.${signature.toString('base64url')}`
  const signedOf = (text: string) => Buffer.from(text.split('.').slice(0, 2).join('.'))
  const bytes = Buffer.from(tail, 'base64url')

  test('of each algorithm is accepted with the key that made it', () => {
    expect(verified(signToken())).toBe(true)
    expect(verified(ecToken, ecKey)).toBe(true)
  })

  test.each<[string, string, typeof rsaKey]>([
    ['RS256 by a key for ES384', signToken(), ecKey],
    ['ES384 under the header RS256', signToken(usualClaims, usualHeader, 'ES384'), ecKey],
    ['ES384 by a key for RS256', ecToken, rsaKey],
    ['ES384 in the header of an RSA signature', signToken(usualClaims, ecHeader), ecKey],
    [
      'an HMAC with the public key',
      withSignature(
        signToken(),
        createHmac('sha256', publicJwks.rsa.n ?? '')
          .update(signedOf(signToken()))
          .digest(),
      ),
      rsaKey,
    ],
    [
      'an ECDSA signature as DER',
      withSignature(ecToken, sign('sha384', signedOf(ecToken), privateKeys.ES384)),
      ecKey,
    ],
    ['an ECDSA signature of zeros', withSignature(ecToken, Buffer.alloc(96)), ecKey],
    ['an ECDSA signature of ones', withSignature(ecToken, Buffer.alloc(96, 0xff)), ecKey],
    [
      '95 bytes',
      withSignature(ecToken, Buffer.from(ecToken.split('.')[2] ?? '', 'base64url').subarray(1)),
      ecKey,
    ],
    [
      '97 bytes',
      withSignature(
        ecToken,
        Buffer.concat([Buffer.alloc(1), Buffer.from(ecToken.split('.')[2] ?? '', 'base64url')]),
      ),
      ecKey,
    ],
    [
      'an RSA signature with a zero in front',
      withSignature(signToken(), Buffer.concat([Buffer.alloc(1), bytes])),
      rsaKey,
    ],
    ['a shorter RSA signature', withSignature(signToken(), bytes.subarray(1)), rsaKey],
    [
      'SHA-384 with RSA',
      withSignature(signToken(), sign('sha384', signedOf(signToken()), privateKeys.RS256)),
      rsaKey,
    ],
  ])('that is %s is refused', (_, text, key) => expect(verified(text, key)).toBe(false))

  test('does not cover a token with any changed character', () => {
    const text = signToken()
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...'ABCxyz019-_'), (at, char) => {
        fc.pre(text[at] !== char && text[at] !== '.')
        expect(verified(text.slice(0, at) + char + text.slice(at + 1))).toBe(false)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a key set', () => {
  const rsa = { ...publicJwks.rsa, kid: 'RSA_0', use: 'sig' }
  const ec = { ...publicJwks.ec, kid: 'EC384_0', alg: 'ES384', use: 'sig' }
  const read = (...keys: object[]) => parseKeySet(JSON.stringify({ keys }))

  test('of AWS is read: an RSA key without alg, and a key on P-384 with alg', () => {
    expect(read(rsa, ec)).toEqual({ ok: true, value: [rsaKey, ecKey] })
  })

  test.each<[string, object]>([
    ['a short modulus', { ...rsa, n: Buffer.alloc(128, 0xff).toString('base64url') }],
    ['a long modulus', { ...rsa, n: Buffer.alloc(513, 0xff).toString('base64url') }],
    [
      'a modulus with zeros in front',
      {
        ...rsa,
        n: Buffer.concat([Buffer.alloc(1), Buffer.from(rsa.n ?? '', 'base64url')]).toString('base64url'),
      },
    ],
    ['another exponent', { ...rsa, e: 'Aw' }],
    ['another algorithm', { ...rsa, alg: 'PS256' }],
    ['another use', { ...rsa, use: 'enc' }],
    ['another curve', { ...ec, crv: 'P-256' }],
    ['a point outside its curve', { ...ec, y: ec.x }],
    [
      'a coordinate with a zero in front',
      {
        ...ec,
        x: Buffer.concat([Buffer.alloc(1), Buffer.from(ec.x ?? '', 'base64url')]).toString('base64url'),
      },
    ],
    ['another type', { kty: 'OKP', crv: 'Ed25519', x: 'AA', kid: 'x' }],
    ['no kid', { ...rsa, kid: undefined }],
  ])('leaves out a key with %s', (_, key) => {
    expect(read({ ...rsa, kid: 'other' }, key)).toEqual({ ok: true, value: [{ ...rsaKey, kid: 'other' }] })
    expect(read(key).ok).toBe(false)
  })

  test.each<[string, object[]]>([
    ['a key ID twice', [rsa, { ...ec, kid: 'RSA_0' }]],
    ['eleven keys', Array.from({ length: 11 }, (_, n) => ({ ...rsa, kid: `k${n}` }))],
    ['a private member', [ec, { ...rsa, d: 'AA' }]],
    ['a symmetric key', [rsa, { kty: 'oct', k: 'AA', kid: 'x' }]],
  ])('with %s is refused as a whole', (_, keys) => expect(read(...keys).ok).toBe(false))

  test('with a member twice is refused', () =>
    expect(parseKeySet(`{"keys":[${JSON.stringify(rsa).slice(0, -1)},"kid":"RSA_1"}]}`).ok).toBe(false))

  test.each(['', '[]', '{}', '{"keys":{}}', '{"keys":[1]}', '<html>'])('is not %s', text =>
    expect(parseKeySet(text).ok).toBe(false),
  )
})
