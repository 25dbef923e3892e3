import { randomUUID } from 'node:crypto'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { write } from './world.ts'

/** Logins, or refused requests, that a measurement compares. `path` is the mount's name. */
export interface JwtCase {
  path: string
  bodies: string[]
}

export interface JwtWorld {
  /** each body works once */
  once: JwtCase
  service: JwtCase
  batch: JwtCase
  /** a token with another signature */
  forged: JwtCase
  /** no token at all */
  malformed: JwtCase
  /** tokens that each name another issuer, which AWS does not know */
  invented: JwtCase
}

const AUDIENCE = 'bench'
const ORGANIZATION = 'o-benchbench1'
const TOGETHER = 50

type Reached = Pick<LocalHost, 'base_url' | 'root_token' | 'control'>

/**
 * Makes two mounts that accept tokens of AWS, and the bodies of logins.
 * @param once number of tokens that log in once @param invented number of tokens of invented issuers
 */
export async function makeJwtWorld(
  host: Reached,
  { once = 0, invented = 0 }: { once?: number; invented?: number } = {},
): Promise<JwtWorld> {
  const { account } = HOME_ACCOUNT
  const { issuer } = await host.control.federation({ account })
  for (const [path, single_use] of [
    ['once', true],
    ['lax', false],
  ]) {
    await write(host, `/sys/auth/${path}`, { type: 'aws' })
    await write(host, `/auth/${path}/config/jwt`, {
      bound_audiences: AUDIENCE,
      organizations: ORGANIZATION,
      max_token_age: '1h',
      single_use,
    })
    for (const token_type of ['service', 'batch'])
      await write(host, `/auth/${path}/role/${token_type}`, {
        auth_type: 'jwt',
        bound_organization_id: ORGANIZATION,
        token_policies: 'dev',
        token_type,
      })
  }
  const claimsOf = (iss: string) => {
    const iat = Math.floor(Date.now() / 1000)
    const sub = `arn:aws:iam::${account}:role/bench`
    return {
      iss,
      sub,
      aud: AUDIENCE,
      iat,
      exp: iat + 3600,
      jti: randomUUID(),
      'https://sts.amazonaws.com/': { aws_account: account, principal_id: sub, org_id: ORGANIZATION },
    }
  }
  const token = async (): Promise<string> =>
    (await host.control.signWebToken({ account, claims: claimsOf(issuer) })).token
  const login = (role: string, jwt: string): string => JSON.stringify({ role, jwt })
  const tokens: string[] = []
  while (tokens.length < once)
    tokens.push(...(await Promise.all(Array.from({ length: TOGETHER }, () => token()))))
  const lax = await token()
  const forged = `${lax.slice(0, lax.lastIndexOf('.'))}.${(await token()).split('.')[2]}`
  const [header, , signature] = lax.split('.')
  const invent = (): string => {
    const claims = claimsOf(issuer.replace(/[0-9a-f-]{36}/, randomUUID()))
    return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
  }
  return {
    once: { path: 'once', bodies: tokens.map(one => login('service', one)) },
    service: { path: 'lax', bodies: [login('service', lax)] },
    batch: { path: 'lax', bodies: [login('batch', lax)] },
    forged: { path: 'lax', bodies: [login('service', forged)] },
    malformed: { path: 'lax', bodies: [login('service', lax.replaceAll('.', ','))] },
    invented: {
      path: 'lax',
      bodies: Array.from({ length: invented }, () => login('service', invent())),
    },
  }
}
