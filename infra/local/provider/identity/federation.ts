import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IssuerKeyPair, WebIdentityIssuer } from '../state/state.ts'

type Algorithm = 'RS256' | 'ES384'

const SUFFIX = {
  aws: '.tokens.sts.global.api.aws',
  'aws-cn': '.tokens.sts.global.api.amazonwebservices.com.cn',
}

const exported = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

/** Creates the two keys of an issuer. The key IDs are the same words in every account, as on AWS. */
function createIssuerKeys(generation: number): IssuerKeyPair[] {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  return [
    {
      kid: `RSA_${generation}`,
      alg: 'RS256',
      privateKey: exported(rsa.privateKey),
      jwk: { ...rsa.publicKey.export({ format: 'jwk' }) },
    },
    {
      kid: `EC384_${generation}`,
      alg: 'ES384',
      privateKey: exported(ec.privateKey),
      jwk: { ...ec.publicKey.export({ format: 'jwk' }), alg: 'ES384' },
    },
  ]
}

/**
 * Switches outbound federation of an account on or off.
 * @param renew whether the account gets a new issuer
 */
export function setFederation(
  aws: ImitatedAws,
  {
    account,
    partition,
    enabled,
    renew,
  }: { account: string; partition: 'aws' | 'aws-cn'; enabled: boolean; renew: boolean },
): WebIdentityIssuer {
  const known = aws.state.issuers.get(account)
  const issuer: WebIdentityIssuer =
    known && !renew
      ? { ...known, enabled }
      : { id: randomUUID(), account, partition, enabled, generation: 0, keys: createIssuerKeys(0) }
  aws.state.issuers.set(account, issuer)
  aws.changed()
  return issuer
}

/** Replaces the keys of an issuer. @param keepIds whether the new keys have the IDs of the old keys */
export function rotateIssuerKeys(aws: ImitatedAws, account: string, keepIds: boolean): WebIdentityIssuer {
  const known = issuerOf(aws, account)
  const generation = known.generation + (keepIds ? 0 : 1)
  const issuer = { ...known, generation, keys: createIssuerKeys(generation) }
  aws.state.issuers.set(account, issuer)
  aws.changed()
  return issuer
}

/** Returns the issuer of an account. @throws Error if federation was never enabled */
function issuerOf(aws: ImitatedAws, account: string): WebIdentityIssuer {
  const issuer = aws.state.issuers.get(account)
  if (issuer === undefined) throw new Error(`federation of account ${account} was never enabled`)
  return issuer
}

export const issuerHostOf = ({ id, partition }: Pick<WebIdentityIssuer, 'id' | 'partition'>): string =>
  `${id}${SUFFIX[partition]}`

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Signs any claims with a key of an account's issuer. */
export function signWebToken(
  aws: ImitatedAws,
  account: string,
  claims: object,
  { alg = 'RS256', header = {} }: { alg?: Algorithm | undefined; header?: object | undefined } = {},
): string {
  const key = issuerOf(aws, account).keys.find(one => one.alg === alg)
  if (key === undefined) throw new Error(`the issuer has no key for ${alg}`)
  const signed = `${encoded({ kid: key.kid, typ: 'JWT', alg, ...header })}.${encoded(claims)}`
  const signature = sign(alg === 'RS256' ? 'sha256' : 'sha384', Buffer.from(signed), {
    key: createPrivateKey(key.privateKey),
    ...(alg === 'ES384' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
  })
  return `${signed}.${signature.toString('base64url')}`
}

/** Returns the documents that the host of an issuer serves, by path. */
export function issuerDocument(aws: ImitatedAws, host: string, path: string): object | undefined {
  const issuer = [...aws.state.issuers.values()].find(one => issuerHostOf(one) === host)
  if (issuer === undefined) return undefined
  const url = `https://${host}`
  if (path === '/.well-known/jwks.json')
    return { keys: issuer.keys.map(({ kid, jwk }) => ({ ...jwk, kid, use: 'sig' })) }
  return path === '/.well-known/openid-configuration'
    ? {
        issuer: url,
        jwks_uri: `${url}/.well-known/jwks.json`,
        id_token_signing_alg_values_supported: ['RS256', 'ES384'],
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
      }
    : undefined
}
