import { readFileSync } from 'node:fs'
import type { Endpoint } from '../../../shared/api/endpoint.ts'
import type { SetMember } from '../set/member.ts'

/** The caller of the requests, with the caller's tokens. */
export interface Caller {
  member: Pick<SetMember, 'ok' | 'token' | 'record'>
  /** DR operation token */
  operator: string
}

const NAMES: Readonly<Record<string, string>> = {
  mount: 'cloud',
  account_id: '111122223333',
  instance_id: 'i-0123456789abcdef0',
  role_tag: Buffer.from('v1:x').toString('base64'),
}

/** Fills names into the template of a path. The default name is `lives`. */
export const filledPath = (template: string): string =>
  template.replace(/:(\w+)/g, (_, name: string) => NAMES[name] ?? 'lives')

const POLICY = { policy: 'path "lives/*" { capabilities = ["read"] }' }
const certificate = readFileSync(new URL('../../vectors/certificates/rsa-2048.pem', import.meta.url), 'utf8')

/** Makes a new token, so that a revocation hits a token that no other request uses. */
const newToken = async ({ member }: Caller) =>
  (await member.ok('POST', '/auth/token/create', { policies: ['default'], ttl: '1h', num_uses: 9 })).body.auth

const serves = async ({ member }: Caller): Promise<boolean> => {
  const { mode } = await member.record()
  return mode === 'disabled' || mode === 'primary'
}

const aToken = async (caller: Caller) =>
  (await serves(caller)) ? { token: (await newToken(caller)).client_token } : { token: 'hvs.none' }
const anAccessor = async (caller: Caller) =>
  (await serves(caller)) ? { accessor: (await newToken(caller)).accessor } : { accessor: 'none' }
const wrapped = async (caller: Caller) =>
  (await serves(caller))
    ? {
        token: (
          await caller.member.ok(
            'POST',
            '/sys/wrapping/wrap',
            { a: 1 },
            { headers: { 'x-vault-wrap-ttl': '60' } },
          )
        ).body.wrap_info.token,
      }
    : { token: 'hvs.none' }

let secondaries = 0

/** The bodies of requests that need a body, by method and path. */
const bodies: Readonly<Record<string, object | ((caller: Caller) => Promise<object> | object)>> = {
  'POST /auth/:mount/config/client': { max_retries: 2 },
  'POST /auth/:mount/config/identity': { iam_alias: 'unique_id', ec2_alias: 'instance_id' },
  'POST /auth/:mount/config/certificate/:cert_name': { aws_public_cert: certificate, type: 'identity' },
  'POST /auth/:mount/config/sts/:account_id': { sts_role: 'arn:aws:iam::111122223333:role/cloud-auth-x' },
  'POST /auth/:mount/role/:role': { auth_type: 'ec2', bound_region: 'us-east-1', role_tag: 'CloudRole' },
  'POST /auth/:mount/role/:role/tag': { policies: ['default'] },
  'POST /sys/auth/:method_path': { type: 'aws' },
  'POST /sys/policies/acl/:policy_name': POLICY,
  'POST /sys/policy/:policy_name': POLICY,
  'POST /sys/capabilities': async caller => ({ ...(await aToken(caller)), paths: ['sys/health'] }),
  'POST /sys/capabilities-self': { paths: ['sys/health'] },
  'POST /sys/capabilities-accessor': async caller => ({
    ...(await anAccessor(caller)),
    paths: ['sys/health'],
  }),
  'POST /sys/audit-hash/:method_path': { input: 'text' },
  'POST /sys/wrapping/wrap': { a: 1 },
  'POST /sys/wrapping/unwrap': wrapped,
  'POST /sys/wrapping/lookup': wrapped,
  'POST /sys/wrapping/rewrap': wrapped,
  'POST /auth/token/create': { policies: ['default'], ttl: '1h' },
  'POST /auth/token/create-orphan': { policies: ['default'], ttl: '1h' },
  'POST /auth/token/roles/:role_name': { allowed_policies: ['default'] },
  'POST /auth/token/create/:role_name': { ttl: '1h' },
  'POST /auth/token/lookup': aToken,
  'POST /auth/token/renew': aToken,
  'POST /auth/token/revoke': aToken,
  'POST /auth/token/revoke-orphan': aToken,
  'POST /auth/token/lookup-accessor': anAccessor,
  'POST /auth/token/renew-accessor': anAccessor,
  'POST /auth/token/revoke-accessor': anAccessor,
  'POST /sys/replication/dr/primary/secondary-token': () => {
    secondaries += 1
    return { id: `lives-${secondaries}` }
  },
  'POST /sys/replication/dr/primary/revoke-secondary': () => ({ id: `lives-${secondaries}` }),
  'POST /sys/replication/dr/secondary/enable': { token: 'none' },
  'POST /sys/replication/dr/secondary/update-primary': { token: 'none' },
}

/** Returns the body of a request to an endpoint, or undefined if the request needs no body. */
export async function sensibleBody(endpoint: Endpoint, caller: Caller): Promise<object | undefined> {
  const { method, path, access } = endpoint
  const given = bodies[`${method} ${path}`]
  const body = typeof given === 'function' ? await given(caller) : given
  const operator = access.by === 'operation-token' ? { dr_operation_token: caller.operator } : undefined
  return method === 'POST' || operator ? { ...body, ...operator } : body
}

/**
 * Returns the token for the request header: an empty text when the body carries the token, and a new token
 * when the request revokes its token.
 */
export async function sensibleToken({ path, access }: Endpoint, caller: Caller): Promise<string> {
  if (access.by === 'operation-token') return ''
  if (path === '/auth/token/revoke-self' && (await serves(caller)))
    return (await newToken(caller)).client_token
  return caller.member.token()
}
