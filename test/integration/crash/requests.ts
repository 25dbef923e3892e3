import { randomUUID } from 'node:crypto'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { removeItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { HOME, launch, pkcs7Of, signedBy } from '../../support/requests/logins.ts'
import { pem } from '../../support/requests/things.ts'
import { make } from '../../support/requests/tokens.ts'
import { tokenAccount } from '../../support/requests/web-tokens.ts'
import type { CallOptions } from '../../support/service/api.ts'
import {
  aws,
  cluster,
  done,
  fresh,
  freshInstanceId,
  freshMount,
  invoke,
} from '../../support/service/cluster.ts'
import { tableStore } from '../../support/tables/store.ts'

/** A request that writes, with the state that it needs. */
export interface Writing {
  /** the endpoint's name in the table of endpoints */
  endpoint: string
  title?: string
  arrange: (mount: string) => Promise<Sent>
  /** status of a repetition after success, if it is an error */
  spent?: number
  /** completes work that the request may leave for later */
  settle?: () => Promise<unknown>
  /** the calls after the commit belong to background work */
  ends?: 'with its commit'
}

export interface Sent {
  method: string
  path: string
  body?: unknown
  options?: CallOptions
}

const post = (path: string, body: unknown = {}, options: CallOptions = {}): Sent => ({
  method: 'POST',
  path,
  body,
  options,
})
const deleting = (path: string): Sent => ({ method: 'DELETE', path })

const ec2Role = { auth_type: 'ec2', bound_account_id: HOME.account, role_tag: 'Tag', token_policies: 'dev' }
const plainRole = { auth_type: 'ec2', bound_account_id: HOME.account }
const policy = { policy: 'path "a" { capabilities = ["read"] }' }

/** Returns the rows for a path that is written and deleted. */
const thing = (endpoint: string, at: (mount: string) => string, body: unknown): Writing[] => [
  {
    endpoint: `POST ${endpoint}`,
    title: 'new',
    arrange: async mount => post(at(mount), body),
  },
  {
    endpoint: `DELETE ${endpoint}`,
    arrange: async mount => {
      const path = at(mount)
      await done('POST', path, body)
      return deleting(path)
    },
  },
]

async function roleTag(mount: string): Promise<string> {
  const role = fresh('role')
  await done('POST', `${mount}/role/${role}`, ec2Role)
  return encodeURIComponent((await done('POST', `${mount}/role/${role}/tag`)).body.data.tag_value)
}

/** Returns a login of an instance that sends its own nonce, as clients should. */
async function ec2Login(mount: string, more: object = {}): Promise<Sent> {
  const role = fresh('role')
  await done('POST', `${mount}/role/${role}`, { ...plainRole, ...more })
  return post(`${mount}/login`, { role, pkcs7: await pkcs7Of(await launch()), nonce: randomUUID() })
}

const ec2Auth = async (mount: string): Promise<ResponseAuth> => {
  const { path, body } = await ec2Login(mount)
  return (await done('POST', path, body)).body.auth
}

interface Family {
  parent: string
  accessor: string
}

async function parentAndChild(): Promise<Family & { child: string }> {
  const { client_token: parent, accessor } = await make({ policies: ['root'], ttl: '1h' })
  const { client_token: child } = await make({ ttl: '30m' }, { token: parent })
  return { parent, accessor, child }
}

async function family(): Promise<Family> {
  const { child, ...known } = await parentAndChild()
  await make({ ttl: '10m' }, { token: child })
  await make({ ttl: '30m' }, { token: known.parent })
  return known
}

async function wrapping(): Promise<string> {
  const headers = { 'x-vault-wrap-ttl': '300' }
  return (await done('POST', '/sys/wrapping/wrap', { a: 1 }, { headers })).body.wrap_info.token
}

/** Brings the root generation into the given state, and returns the next request. */
async function ceremony(so: 'none' | 'begun' | 'nearly done'): Promise<Sent> {
  const at = '/sys/generate-root/attempt'
  await tableStore(cluster).commit(removeItem(key('ceremony')))
  if (so === 'none') return post(at)
  const { nonce } = (await done('POST', at)).body
  if (so === 'begun') return deleting(at)
  const [a, b, c] = cluster.recovery_keys
  for (const share of [a, b]) await done('POST', '/sys/generate-root/update', { nonce, key: share })
  return post('/sys/generate-root/update', { nonce, key: c })
}

const tokenRole = async (): Promise<string> => {
  const name = fresh('tr')
  await done('POST', `/auth/token/roles/${name}`, { allowed_policies: 'dev', orphan: true })
  return name
}

async function satelliteMount(): Promise<string> {
  const name = fresh('m')
  await done('POST', `/sys/auth/${name}`, { type: 'cloud' })
  return name
}

/** Requests that write with one commit, so that each request takes effect completely or not at all. */
export const oneCommit: readonly Writing[] = [
  {
    endpoint: 'POST /auth/:mount/login',
    title: 'ec2, first',
    arrange: ec2Login,
  },
  {
    endpoint: 'POST /auth/:mount/login',
    title: 'ec2, again',
    arrange: async mount => {
      const login = await ec2Login(mount)
      await done(login.method, login.path, login.body)
      return login
    },
  },
  {
    endpoint: 'POST /auth/:mount/login',
    title: 'ec2, of a role whose tokens end with the instance',
    arrange: mount => ec2Login(mount, { revoke_on_termination: true }),
  },
  {
    endpoint: 'POST /auth/:mount/login',
    title: 'iam',
    arrange: async mount => {
      const name = fresh('worker')
      const { arn } = await aws.putRole({ account: HOME.account, name })
      await done('POST', `${mount}/role/${name}`, {
        bound_iam_principal_arn: arn,
        resolve_aws_unique_ids: false,
      })
      const key = await aws.session({ account: HOME.account, role: name, session: 'one' })
      return post(`${mount}/login`, { role: name, ...signedBy(key) })
    },
  },
  ...thing('/auth/:mount/config/client', mount => `${mount}/config/client`, {
    access_key: 'AKIAIOSFODNN7EXAMPLE',
    secret_key: 'hidden',
    max_retries: 3,
  }),
  {
    endpoint: 'POST /auth/:mount/config/identity',
    arrange: async mount => post(`${mount}/config/identity`, { iam_alias: 'unique_id' }),
  },
  {
    endpoint: 'POST /auth/:mount/config/review',
    arrange: async mount => post(`${mount}/config/review`, { track_use: true }),
  },
  ...thing(
    '/auth/:mount/config/certificate/:cert_name',
    mount => `${mount}/config/certificate/${fresh('c')}`,
    {
      cloud_public_cert: pem.rsa,
    },
  ),
  ...thing('/auth/:mount/config/sts/:account_id', mount => `${mount}/config/sts/222233334444`, {
    sts_role: 'arn:aws:iam::222233334444:role/cloud-auth-reader',
  }),
  ...thing('/auth/:mount/config/jwt', mount => `${mount}/config/jwt`, {
    bound_audiences: 'https://a.example',
  }),
  ...thing('/auth/:mount/config/organization', mount => `${mount}/config/organization`, {
    max_age: '2h',
  }).map((row): Writing => ({ ...row, ends: 'with its commit' })),
  {
    endpoint: 'POST /auth/:mount/config/jwt/issuer/:issuer_id',
    arrange: async mount => {
      const { id, account } = await tokenAccount()
      return post(`${mount}/config/jwt/issuer/${id}`, { account_id: account })
    },
  },
  {
    endpoint: 'DELETE /auth/:mount/config/jwt/issuer/:issuer_id',
    arrange: async mount => {
      const { id, account } = await tokenAccount()
      await done('POST', `${mount}/config/jwt/issuer/${id}`, { account_id: account })
      return deleting(`${mount}/config/jwt/issuer/${id}`)
    },
  },
  ...thing('/auth/:mount/role/:role', mount => `${mount}/role/${fresh('r')}`, ec2Role),
  {
    endpoint: 'POST /auth/:mount/role/:role',
    title: 'change',
    arrange: async mount => {
      const path = `${mount}/role/${fresh('r')}`
      await done('POST', path, plainRole)
      return post(path, { token_ttl: '5m' })
    },
  },
  {
    endpoint: 'DELETE /auth/:mount/identity-accesslist/:instance_id',
    arrange: async mount => {
      const instanceId = freshInstanceId()
      const role = fresh('role')
      await done('POST', `${mount}/role/${role}`, plainRole)
      await done('POST', `${mount}/login`, { role, pkcs7: await pkcs7Of(await launch({ instanceId })) })
      return deleting(`${mount}/identity-accesslist/${instanceId}`)
    },
  },
  {
    endpoint: 'POST /auth/:mount/roletag-denylist/:role_tag',
    arrange: async mount => {
      return post(`${mount}/roletag-denylist/${await roleTag(mount)}`)
    },
  },
  {
    endpoint: 'DELETE /auth/:mount/roletag-denylist/:role_tag',
    arrange: async mount => {
      const path = `${mount}/roletag-denylist/${await roleTag(mount)}`
      await done('POST', path)
      return deleting(path)
    },
  },
  {
    endpoint: 'POST /auth/token/create',
    arrange: async () => {
      const { client_token: token } = await make({ policies: ['root'], ttl: '1h' })
      return post('/auth/token/create', { ttl: '5m' }, { token })
    },
  },
  {
    endpoint: 'POST /auth/token/create-orphan',
    arrange: async () => post('/auth/token/create-orphan', { ttl: '5m' }),
  },
  {
    endpoint: 'POST /auth/token/create/:role_name',
    arrange: async () => post(`/auth/token/create/${await tokenRole()}`, { policies: ['dev'], ttl: '5m' }),
  },
  ...thing('/auth/token/roles/:role_name', () => `/auth/token/roles/${fresh('tr')}`, {
    allowed_policies: 'dev',
  }),
  {
    endpoint: 'POST /auth/token/renew',
    arrange: async mount => post('/auth/token/renew', { token: (await ec2Auth(mount)).client_token }),
  },
  {
    endpoint: 'POST /auth/token/renew-self',
    arrange: async mount =>
      post('/auth/token/renew-self', {}, { token: (await ec2Auth(mount)).client_token }),
  },
  {
    endpoint: 'POST /auth/token/renew-accessor',
    arrange: async () => {
      const { accessor } = await make({ ttl: '5m' })
      return post('/auth/token/renew-accessor', { accessor })
    },
  },
  {
    endpoint: 'POST /sys/wrapping/wrap',
    arrange: async () => post('/sys/wrapping/wrap', { a: 1 }, { headers: { 'x-vault-wrap-ttl': '60' } }),
  },
  {
    endpoint: 'POST /sys/wrapping/unwrap',
    arrange: async () => post('/sys/wrapping/unwrap', { token: await wrapping() }),
    spent: 400,
  },
  {
    endpoint: 'POST /sys/wrapping/rewrap',
    arrange: async () => post('/sys/wrapping/rewrap', { token: await wrapping() }),
    spent: 400,
  },
  {
    endpoint: 'POST /identity/entity/id/:id',
    arrange: async mount => {
      const { entity_id: id } = await ec2Auth(mount)
      return post(`/identity/entity/id/${id}`, { policies: ['dev'] })
    },
  },
  {
    endpoint: 'DELETE /identity/entity/id/:id',
    arrange: async mount => {
      const { entity_id: id } = await ec2Auth(mount)
      return deleting(`/identity/entity/id/${id}`)
    },
  },
  { endpoint: 'POST /sys/generate-root/attempt', spent: 400, arrange: async () => ceremony('none') },
  { endpoint: 'DELETE /sys/generate-root/attempt', arrange: async () => ceremony('begun') },
  {
    endpoint: 'POST /sys/generate-root/update',
    title: 'the last share',
    spent: 400,
    arrange: async () => ceremony('nearly done'),
  },
  { endpoint: 'POST /sys/rotate', arrange: async () => post('/sys/rotate') },
  {
    endpoint: 'POST /sys/auth/:method_path',
    arrange: async () => post(`/sys/auth/${fresh('m')}`, { type: 'cloud' }),
    spent: 400,
  },
  {
    endpoint: 'POST /sys/auth/:method_path/tune',
    arrange: async () => post(`/sys/auth/${await satelliteMount()}/tune`, { description: 'x' }),
  },
  ...thing('/sys/policies/acl/:policy_name', () => `/sys/policies/acl/${fresh('p')}`, policy),
]

const revoking = (
  name: string,
  body: (made: Family) => unknown,
  made: () => Promise<Family> = parentAndChild,
): Writing => ({
  endpoint: `POST /auth/token/${name}`,
  arrange: async () => post(`/auth/token/${name}`, body(await made())),
  settle: settleTokens,
})

/** Runs the tidy of tokens to its end. */
async function settleTokens(): Promise<void> {
  await invoke('on-job', { job: 'token-tidy', of: 'token', at: { segment: 0 } })
}

const lists = ['identity-accesslist', 'roletag-denylist'] as const

/**
 * Requests with work before or after their commit. A repeated request completes the work of a request that
 * was cut.
 */
export const manySteps: readonly Writing[] = [
  revoking('revoke', ({ parent }) => ({ token: parent }), family),
  revoking('revoke-accessor', ({ accessor }) => ({ accessor })),
  { ...revoking('revoke-orphan', ({ parent }) => ({ token: parent })), spent: 400 },
  {
    endpoint: 'POST /auth/token/revoke-self',
    arrange: async () => post('/auth/token/revoke-self', {}, { token: (await parentAndChild()).parent }),
    spent: 403,
    settle: settleTokens,
  },
  ...lists.flatMap(list =>
    thing(`/auth/:mount/config/tidy/${list}`, mount => `${mount}/config/tidy/${list}`, {
      safety_buffer: 60,
    }).map(
      (row): Writing => ({
        ...row,
        // a fresh mount, so that the entries of earlier mounts are not rewritten
        arrange: async () => row.arrange((await freshMount()).path),
        ends: 'with its commit',
      }),
    ),
  ),
]
