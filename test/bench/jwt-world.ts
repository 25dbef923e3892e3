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
}

const AUDIENCE = 'bench'
const ORGANIZATION = 'o-benchbench1'
const TOGETHER = 50

type Reached = Pick<LocalHost, 'base_url' | 'root_token' | 'control'>

/** Makes two mounts that accept tokens of AWS, and the bodies of logins. @param count of tokens that log in once */
export async function makeJwtWorld(host: Reached, count: number): Promise<JwtWorld> {
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
  const token = async (): Promise<string> => {
    const iat = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      sub: `arn:aws:iam::${account}:role/bench`,
      aud: AUDIENCE,
      iat,
      exp: iat + 3600,
      jti: randomUUID(),
      'https://sts.amazonaws.com/': { aws_account: account, org_id: ORGANIZATION },
    }
    return (await host.control.signWebToken({ account, claims })).token
  }
  const login = (role: string, jwt: string): string => JSON.stringify({ role, jwt })
  const tokens: string[] = []
  while (tokens.length < count)
    tokens.push(...(await Promise.all(Array.from({ length: TOGETHER }, () => token()))))
  const lax = await token()
  const forged = `${lax.slice(0, lax.lastIndexOf('.'))}.${(await token()).split('.')[2]}`
  return {
    once: { path: 'once', bodies: tokens.map(one => login('service', one)) },
    service: { path: 'lax', bodies: [login('service', lax)] },
    batch: { path: 'lax', bodies: [login('batch', lax)] },
    forged: { path: 'lax', bodies: [login('service', forged)] },
    malformed: { path: 'lax', bodies: [login('service', lax.replaceAll('.', ','))] },
  }
}
