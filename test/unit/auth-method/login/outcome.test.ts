import { describe, expect, test } from 'vitest'
import type { LoginGrant } from '../../../../shared/auth-method/login/grant.ts'
import { chooseTokenType, mintLoginToken } from '../../../../shared/auth-method/login/outcome.ts'
import type { Alias } from '../../../../shared/model/alias.ts'
import type { Mount } from '../../../../shared/model/mount.ts'
import { accessorOfHash, tokenHashOf } from '../../../../shared/model/token.ts'
import { defaultTokenParameters } from '../../../../shared/tokens/parameters.ts'
import type { TokenParameters } from '../../../../shared/tokens/terms.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { clearCipher, mount, NOW } from '../../tokens/support.ts'

const MONTH = 2_764_800
const login = { authType: 'iam', role: 'dev', roleId: 'r-1', account: '111122223333' } as const

type GrantParts = Partial<Omit<LoginGrant, 'terms'>> & { terms?: Partial<LoginGrant['terms']> }

const grant = ({ terms = {}, ...parts }: GrantParts = {}): LoginGrant => ({
  path: 'auth/cloud/login',
  login,
  displayName: 'dev',
  metadata: { account_id: '111122223333' },
  disclosed: {},
  alias: { name: 'r-1', metadata: {} },
  terms: { ...defaultTokenParameters, policies: ['Dev'], ...terms },
  source: '192.0.2.1',
  ...parts,
})

const alias = (parts: Partial<Alias> = {}) =>
  ({ mount: 'auth_cloud_1', name: 'r-1', entityId: 'e-1', policies: [], disabled: false, ...parts }) as Alias

const mint = (granted: GrantParts = {}, around: { mount?: Partial<Mount>; alias?: Partial<Alias> } = {}) =>
  mintLoginToken(
    grant(granted),
    { mount: mount(around.mount), alias: alias(around.alias), now: NOW, text: () => new Secret('hvs.new') },
    clearCipher,
  )

describe('the token of a login', () => {
  test('a login token is one item and an orphan, with the facts of the login', async () => {
    const { auth, changes, warnings } = await mint({
      terms: { boundCidrs: ['10.0.0.0/8'], numUses: 3, ttl: 60 },
    })
    const hash = tokenHashOf('hvs.new')
    expect(auth).toEqual({
      client_token: 'hvs.new',
      accessor: accessorOfHash(hash),
      policies: ['default', 'dev'],
      token_policies: ['default', 'dev'],
      metadata: { account_id: '111122223333' },
      lease_duration: 60,
      renewable: true,
      entity_id: 'e-1',
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 3,
    })
    expect(changes).toEqual([
      {
        kind: 'put',
        key: { kind: 'token', pk: `token#${accessorOfHash(hash)}`, sk: 'token' },
        expected: 'absent',
        times: { expires: Math.floor(NOW / 1000) + 61 },
        data: {
          type: 'service',
          hash,
          path: 'auth/cloud/login',
          displayName: 'cloud-dev',
          policies: ['default', 'dev'],
          meta: { account_id: '111122223333' },
          mount: 'auth_cloud_1',
          entity: { id: 'e-1', mount: 'auth_cloud_1', alias: 'r-1' },
          login,
          depth: 0,
          numUses: 3,
          renewable: true,
          createdAt: NOW,
          ttl: 60,
          creationTtl: 60,
          explicitMaxTtl: 0,
          period: 0,
          boundCidrs: ['10.0.0.0/8'],
        },
      },
    ])
    expect(warnings).toEqual([])
  })

  test('the text of the token is not stored', async () => {
    expect(JSON.stringify((await mint()).changes)).not.toContain('hvs.new')
  })

  test('disclosed values are returned but not stored on the token', async () => {
    const { auth, changes } = await mint({ disclosed: { nonce: 'n-1' } })
    expect(auth.metadata).toEqual({ account_id: '111122223333', nonce: 'n-1' })
    expect(JSON.stringify(changes)).not.toContain('n-1')
  })

  test('policies of the entity are returned but not stored on the token', async () => {
    const { auth, changes } = await mint({}, { alias: { policies: ['Ops', 'dev'] } })
    expect(auth).toMatchObject({
      policies: ['default', 'dev', 'ops'],
      token_policies: ['default', 'dev'],
      identity_policies: ['dev', 'ops'],
    })
    expect(JSON.stringify(changes)).not.toContain('ops')
  })

  test('token_policies is omitted if there are no policies', async () => {
    const { auth } = await mint({ terms: { policies: [], noDefaultPolicy: true } })
    expect(auth.policies).toEqual([])
    expect(auth).not.toHaveProperty('token_policies')
  })

  test.each<[name: string, granted: GrantParts, mounted: Partial<Mount>, ttl: number, warned: boolean]>([
    ['the system’s', {}, {}, MONTH, false],
    ['the mount’s', {}, { defaultLeaseTtl: 60 }, 60, false],
    ['the role’s, within the mount’s maximum', { terms: { ttl: 90 } }, { maxLeaseTtl: 60 }, 60, true],
    ['the period', { terms: { period: 30, ttl: 90 } }, {}, 30, false],
    ['the explicit maximum', { terms: { ttl: 90, explicitMaxTtl: 20 } }, {}, 20, true],
    ['the method’s maximum', { terms: { ttl: 90, maxTtl: 20 } }, {}, 20, true],
  ])('the TTL of a login token: %s', async (_, granted, mounted, ttl, warned) => {
    const { auth, warnings } = await mint(granted, { mount: mounted })
    expect(auth.lease_duration).toBe(ttl)
    expect(warnings).toHaveLength(warned ? 1 : 0)
  })

  test('the token is bound to the client address if the role requires it', async () => {
    const { changes } = await mint({ terms: { strictlyBindIp: true, boundCidrs: ['192.0.2.0/24'] } })
    expect(changes).toMatchObject([{ data: { boundCidrs: ['192.0.2.1/32'] } }])
  })

  test('a login with a disabled entity is rejected', async () => {
    await expect(mint({}, { alias: { disabled: true } })).rejects.toMatchObject({
      code: 'permission_denied',
      reason: { why: 'entity-disabled' },
    })
  })
})

describe('batch tokens', () => {
  test('a batch token contains all its data and writes nothing', async () => {
    const { auth, changes } = await mint({ terms: { type: 'batch', ttl: 60 } })
    expect(changes).toEqual([])
    expect(auth).toMatchObject({ accessor: '', renewable: false, token_type: 'batch', lease_duration: 60 })
    expect(auth.client_token).toMatch(/^hvb\./)
    const content = JSON.parse((await clearCipher.decryptToken(auth.client_token.slice(4)))?.content ?? '')
    expect(content).toMatchObject({ type: 'batch', hash: '', policies: ['default', 'dev'], login, ttl: 60 })
  })

  test('a batch token longer than a request may carry is rejected', async () => {
    const metadata = { long: 'x'.repeat(6000) }
    await expect(mint({ terms: { type: 'batch' }, metadata })).rejects.toThrow('too long for a batch token')
    expect((await mint({ terms: { type: 'service' }, metadata })).auth.metadata).toEqual(metadata)
  })

  test.each<[name: string, granted: GrantParts]>([
    ['a period', { terms: { period: 60 } }],
    ['limited uses', { terms: { numUses: 1 } }],
  ])('a batch token with %s is rejected, even if the mount selects the type', async (_, granted) => {
    await expect(mint(granted, { mount: { tokenType: 'batch' } })).rejects.toThrow('batch tokens')
  })
})

test.each<[role: TokenParameters['type'], tuned: Mount['tokenType'], type: string]>([
  ['default', 'default-service', 'service'],
  ['default', 'default-batch', 'batch'],
  ['default', 'service', 'service'],
  ['default', 'batch', 'batch'],
  ['service', 'default-service', 'service'],
  ['service', 'default-batch', 'service'],
  ['batch', 'default-service', 'batch'],
  ['batch', 'default-batch', 'batch'],
])('role token_type %s on a mount with token_type %s gives a %s token', (role, tuned, type) => {
  expect(chooseTokenType(role, { tokenType: tuned })).toBe(type)
})
