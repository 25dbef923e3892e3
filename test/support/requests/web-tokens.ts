import { randomUUID } from 'node:crypto'
import type { Reply } from '../service/api.ts'
import { clock } from '../service/clock.ts'
import { api, aws, done, freshAccount, freshMount } from '../service/cluster.ts'

export const AUDIENCE = 'https://cloud-auth.example'
export const ORGANIZATION = 'o-a1b2c3d4e5'
export const PATH = `${ORGANIZATION}/r-ab12/ou-ab12-11111111`

type Claims = Record<string, unknown>

/** An AWS account that signs tokens, with a role `app`. */
export interface TokenAccount {
  account: string
  /** UUID of the issuer */
  id: string
  issuer: string
  sub: string
}

/** Creates an account whose issuer signs tokens. */
export async function tokenAccount(partition: 'aws' | 'aws-cn' = 'aws'): Promise<TokenAccount> {
  const account = freshAccount()
  const { id, issuer } = await aws.federation({ account, partition })
  return { account, id, issuer, sub: `arn:${partition}:iam::${account}:role/svc/app` }
}

/** Returns the claims of a token as AWS writes them. */
export function claimsOf(
  from: TokenAccount,
  { aws: own = {}, ...more }: Claims & { aws?: Claims } = {},
): Claims {
  const now = Math.floor(clock.now() / 1000)
  return {
    iss: from.issuer,
    sub: from.sub,
    aud: AUDIENCE,
    iat: now,
    exp: now + 300,
    jti: randomUUID(),
    'https://sts.amazonaws.com/': {
      aws_account: from.account,
      principal_id: more['sub'] ?? from.sub,
      source_region: 'eu-west-1',
      org_id: ORGANIZATION,
      ou_path: [PATH],
      ...own,
    },
    ...more,
  }
}

interface Signing {
  alg?: 'RS256' | 'ES384'
  header?: Claims
  /** account whose issuer signs */
  by?: string
}

/** Returns a token of an account. */
export const tokenOf = async (
  from: TokenAccount,
  claims: Claims & { aws?: Claims } = {},
  { by = from.account, ...signing }: Signing = {},
): Promise<string> =>
  (await aws.signWebToken({ account: by, claims: claimsOf(from, claims), ...signing })).token

/** Lets a mount accept tokens of an organization, with a role `app` for its accounts. */
export async function acceptTokens(path: string, config: object = {}, role: object = {}): Promise<void> {
  await done('POST', `${path}/config/jwt`, {
    bound_audiences: AUDIENCE,
    organizations: ORGANIZATION,
    ...config,
  })
  await done('POST', `${path}/role/app`, {
    auth_type: 'jwt',
    bound_organization_id: ORGANIZATION,
    token_policies: 'dev',
    ...role,
  })
}

/** Creates a mount that accepts tokens of an organization, with a role `app` for its accounts. */
export async function tokenMount(config: object = {}, role: object = {}): Promise<string> {
  const { path } = await freshMount()
  await acceptTokens(path, config, role)
  return path
}

let sources = 0

/** Logs in by token, each time from another address, because an address may cause only a few fetches of keys. */
export const logInWithToken = (
  mount: string,
  jwt: string,
  more: object = {},
  from = `127.0.7.${sources++ % 250}`,
): Promise<Reply> => api('POST', `${mount}/login`, { jwt, ...more }, { token: '', from })

/** Logs in by token. @returns the status and the errors */
export async function tokenLoginErrors(mount: string, jwt: string, more: object = {}): Promise<string> {
  const { status, body } = await logInWithToken(mount, jwt, more)
  return `${status} ${(body.errors ?? []).join('; ')}`
}

/** The answer to a token whose issuer is not trusted. */
export const UNTRUSTED_ISSUER = '400 the issuer of the token is not trusted here'
