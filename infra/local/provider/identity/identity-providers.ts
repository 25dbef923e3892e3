import { createPrivateKey, createPublicKey, generateKeyPair, randomUUID, sign, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { parseJsonObject } from '../../../../shared/values/json.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamIdentityProvider, RsaKeyPair } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'

const generate = promisify(generateKeyPair)

/** Creates an identity provider of an account, or replaces its audiences. */
export function putIdentityProvider(
  aws: ImitatedAws,
  { account, url, audiences }: Pick<IamIdentityProvider, 'account' | 'url' | 'audiences'>,
): IamIdentityProvider {
  const arn = `arn:aws:iam::${account}:oidc-provider/${url.replace('https://', '')}`
  const provider = { account, url, arn, audiences }
  aws.state.identityProviders.set(`${account}/${url}`, provider)
  aws.changed()
  return provider
}

/** The claims of an identity token that a caller chooses. */
interface TokenOrder {
  /** URL of the issuer. */
  issuer: string
  subject: string
  audience: string
  ttlSeconds: number
}

/** The checked claims of an identity token. */
export interface IdentityClaims {
  sub: string
  aud: string
  provider: IamIdentityProvider
}

/** Signs an identity token (a JWT, RS256), as GitHub, GitLab and EKS do for their workloads. */
export async function issueIdentityToken(
  aws: ImitatedAws,
  { issuer, subject, audience, ttlSeconds }: TokenOrder,
): Promise<string> {
  const { privateKey } = await issuerKeyOf(aws)
  const iat = Math.floor(aws.now() / 1000)
  const claims = { iss: issuer, sub: subject, aud: audience, iat, exp: iat + ttlSeconds, jti: randomUUID() }
  const signed = `${encode({ alg: 'RS256', typ: 'JWT', kid: 'imitated' })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(signed), createPrivateKey(privateKey))
  return `${signed}.${signature.toString('base64url')}`
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The key pairs that are being generated, so that simultaneous first tokens share a key. */
const generating = new WeakMap<ImitatedAws['state'], Promise<RsaKeyPair>>()

async function issuerKeyOf(aws: ImitatedAws): Promise<RsaKeyPair> {
  const { state } = aws
  if (state.issuerKey !== null) return state.issuerKey
  const known = generating.get(state) ?? createIssuerKey()
  generating.set(state, known)
  state.issuerKey = await known
  aws.changed()
  return state.issuerKey
}

const createIssuerKey = async (): Promise<RsaKeyPair> => {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: 2048 })
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/**
 * Verifies an identity token as STS does: issuer, signature, lifetime, and the audiences of the account's
 * identity provider.
 * @throws InvalidIdentityToken 400, ExpiredTokenException 400
 */
export function readIdentityToken(aws: ImitatedAws, account: string, token: string): IdentityClaims {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.')
  const [{ alg }, { iss, sub, aud, exp }] = [decode(header), decode(payload)]
  if (rest.length > 0 || alg !== 'RS256' || typeof sub !== 'string' || typeof aud !== 'string')
    throw invalid('The ID Token provided is not a valid JWT.')
  const provider = aws.state.identityProviders.get(`${account}/${iss}`)
  if (provider === undefined) throw invalid(`No OpenIDConnect provider found in your account for ${iss}`)
  const key = aws.state.issuerKey
  const isSigned =
    key !== null &&
    verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      createPublicKey(key.publicKey),
      Buffer.from(signature, 'base64url'),
    )
  if (!isSigned) throw invalid('The signature of the ID Token could not be verified.')
  if (typeof exp !== 'number' || exp * 1000 <= aws.now())
    throw awsError(400, 'ExpiredTokenException', 'Token expired: the time must be before the token’s exp')
  if (!provider.audiences.includes(aud)) throw invalid('Incorrect token audience')
  return { sub, aud, provider }
}

const decode = (part: string): Record<string, unknown> =>
  parseJsonObject(Buffer.from(part, 'base64url').toString('utf8')) ?? {}

const invalid = (message: string) => awsError(400, 'InvalidIdentityToken', message)
