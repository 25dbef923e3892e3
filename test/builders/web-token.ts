import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { IssuerKey } from '../../shared/model/jwt.ts'

export const ISSUER_ID = '11111111-2222-4333-8444-555555555555'
export const ISSUER = `https://${ISSUER_ID}.tokens.sts.global.api.aws`
const ACCOUNT = '111122223333'
export const NOW = 1_790_000_000

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' })

export const privateKeys: Record<'RS256' | 'ES384', KeyObject> = {
  RS256: rsa.privateKey,
  ES384: ec.privateKey,
}
export const publicJwks = {
  rsa: rsa.publicKey.export({ format: 'jwk' }),
  ec: ec.publicKey.export({ format: 'jwk' }),
}

export const rsaKey: IssuerKey = { kid: 'RSA_0', alg: 'RS256', n: publicJwks.rsa.n ?? '' }
export const ecKey: IssuerKey = {
  kid: 'EC384_0',
  alg: 'ES384',
  x: publicJwks.ec.x ?? '',
  y: publicJwks.ec.y ?? '',
}

const ARN = `arn:aws:iam::${ACCOUNT}:role/svc/app`

/** The claims of the usual token. */
export const usualClaims = {
  iss: ISSUER,
  sub: ARN,
  aud: 'https://cloud-auth.example',
  iat: NOW,
  exp: NOW + 300,
  jti: 'a1b2',
  'https://sts.amazonaws.com/': { aws_account: ACCOUNT, principal_id: ARN, org_id: 'o-a1b2c3d4e5' },
}

export const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

export const usualHeader = { kid: 'RSA_0', typ: 'JWT', alg: 'RS256' }

/** Signs header and claims, each an object or the JSON text to send. */
export function signToken(
  claims: unknown = usualClaims,
  header: unknown = usualHeader,
  alg: 'RS256' | 'ES384' = 'RS256',
): string {
  const signed = `${encoded(header)}.${encoded(claims)}`
  const signature = sign(alg === 'RS256' ? 'sha256' : 'sha384', Buffer.from(signed), {
    key: privateKeys[alg],
    ...(alg === 'ES384' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
  })
  return `${signed}.${signature.toString('base64url')}`
}
