import { ok } from '../../../shared/values/result.ts'
import { publicJwks, signToken, usualClaims } from '../../builders/web-token.ts'
import type { ClusterSet } from './set.ts'

// Logins by the usual tokens at the mount `cloud` of a set's clusters, whose fetches of keys reach no network.

const AWS = 'https://sts.amazonaws.com/'
const KEYS = JSON.stringify({ keys: [{ ...publicJwks.rsa, kid: 'RSA_0', use: 'sig' }] })
const ORGANIZATION = usualClaims[AWS].org_id

interface Accepting {
  /** fields of `config/jwt` and of the role `app` */
  config?: object
  role?: object
}

/**
 * Lets the first cluster's mount accept tokens. @returns the fetches of keys so far: cluster and issuer's host
 */
export async function acceptUsualTokens(
  set: ClusterSet,
  [primary = '', ...others]: readonly string[],
  { config = {}, role = {} }: Accepting = {},
): Promise<string[]> {
  const fetches: string[] = []
  for (const name of [primary, ...others])
    set.at(name).ports.issuerKeys = {
      fetch: async host => {
        fetches.push(`${name} ${host}`)
        return ok(KEYS)
      },
    }
  const { request, ok: done } = set.at(primary)
  await request('POST', '/sys/auth/cloud', { type: 'aws' })
  await done('POST', '/auth/cloud/config/jwt', {
    bound_audiences: usualClaims.aud,
    organizations: ORGANIZATION,
    ...config,
  })
  await done('POST', '/auth/cloud/role/app', {
    auth_type: 'jwt',
    bound_organization_id: ORGANIZATION,
    ...role,
  })
  return fetches
}

/** Signs the usual token at the clusters' time. @param aws more claims about the caller */
export function usualToken(set: ClusterSet, jti: string, aws: object = {}): string {
  const iat = Math.floor(set.clock.now() / 1000)
  return signToken({ ...usualClaims, iat, exp: iat + 300, jti, [AWS]: { ...usualClaims[AWS], ...aws } })
}

/** Logs in. @returns the status and the errors */
export async function logInByToken(set: ClusterSet, cluster: string, jwt: string): Promise<string> {
  const { status, body } = await set.at(cluster).request('POST', '/auth/cloud/login', { jwt }, { token: '' })
  return [status, ...(body.errors ?? [])].join(' ')
}
