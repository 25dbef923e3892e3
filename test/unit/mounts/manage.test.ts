import { describe, expect, test } from 'vitest'
import type { CallOutcome } from '../../../shared/api/call.ts'
import { readParameterFields } from '../../../shared/api/fields.ts'
import {
  defaultTtlOfMount,
  findMountByPath,
  isAuthMethodMount,
  isLegacyEc2,
  isMountedAccessor,
  type Mount,
  type MountTable,
  maxTtlOfMount,
  unmaskedAuditKeys,
} from '../../../shared/model/mount.ts'
import {
  disableMount,
  enableMount,
  listMounts,
  listSecretEngines,
  listVisibleMounts,
  readMount,
  readMountTuning,
  tuneMount,
  tuneMountFields,
} from '../../../shared/mounts/manage.ts'
import { createMount } from '../../../shared/mounts/store.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { callWith } from '../../support/requests/call.ts'
import { mount } from '../tokens/support.ts'

const tokenMount = mount({ path: 'token', type: 'token', accessor: 'auth_token_1' })
const table: MountTable = { mounts: [tokenMount, mount()], removing: [] }
const subject: Item<'mounts'> = { ...key('mounts'), rev: 'r1', data: table }
const UUID = '01234567-89ab-4cde-8f01-23456789abcd'
const ports = { entropy: { uuid: () => UUID }, deployment: { apiVersion: '1.19.5' } }
const at = (path: string, given: object = {}, raw: object = given) =>
  callWith({
    pathParameters: { method_path: path },
    parameters: given,
    raw,
    subject,
    mounts: table,
    ports,
  })

const written = ({ changes = [] }: CallOutcome): MountTable => (changes[0] as { data: MountTable }).data
const last = (outcome: CallOutcome): Mount | undefined => written(outcome).mounts.at(-1)

describe('enabling a mount', () => {
  test('a new mount is appended with a new accessor', () => {
    const outcome = enableMount(at('second', { type: 'aws', description: 'more' }))
    expect(outcome.changes).toMatchObject([
      { kind: 'put', key: key('mounts'), expected: { rev: 'r1' } },
      { kind: 'put', key: key('mounts-revision'), expected: 'any' },
    ])
    expect(written(outcome).mounts.slice(0, 2)).toEqual(table.mounts)
    expect(last(outcome)).toEqual({
      path: 'second',
      type: 'aws',
      accessor: 'auth_aws_0123456789ab',
      uuid: UUID,
      description: 'more',
      defaultLeaseTtl: 0,
      maxLeaseTtl: 0,
      tokenType: 'default-service',
      options: {},
    })
  })

  test('enabling accepts the settings of a tune request', () => {
    const config = {
      default_lease_ttl: '1h',
      max_lease_ttl: 7200,
      token_type: 'batch',
      listing_visibility: 'unauth',
      extra: 1,
      options: null,
      force_no_cache: false,
    }
    const outcome = enableMount(at('x', { type: 'cloud', config }))
    expect(outcome.answer.warnings).toEqual(['unknown parameters were ignored: config.extra'])
    expect(last(outcome)).toMatchObject({
      defaultLeaseTtl: 3600,
      maxLeaseTtl: 7200,
      tokenType: 'batch',
      options: { listing_visibility: 'unauth' },
    })
    expect(last(enableMount(at('x', { type: 'cloud', config: null })))).toMatchObject({ defaultLeaseTtl: 0 })
  })

  test.each<[name: string, path: string, given: object, message: string]>([
    ['a path that is taken', 'cloud', { type: 'cloud' }, 'already in use'],
    ['the token store’s path', 'token', { type: 'cloud' }, 'already in use'],
    ['a nested path', 'a/b', { type: 'cloud' }, 'one segment'],
    ['a path with a space', 'a b', { type: 'cloud' }, 'may hold'],
    ['no path', '', { type: 'cloud' }, 'GET sys/auth, without a trailing slash'],
    ['an unknown type', 'x', { type: 'ldap' }, 'type must be one of'],
    ['a second token store', 'x', { type: 'token' }, 'type must be one of'],
    ['a type of a prototype', 'x', { type: 'constructor' }, 'type must be one of'],
    ['settings in a list', 'x', { type: 'cloud', config: [] }, 'config must be an object'],
    [
      'a setting of a wrong kind',
      'x',
      { type: 'cloud', config: { max_lease_ttl: 'soon' } },
      'max_lease_ttl must be a duration',
    ],
    [
      'a default above the maximum',
      'x',
      { type: 'cloud', config: { default_lease_ttl: 2, max_lease_ttl: 1 } },
      'default_lease_ttl',
    ],
    [
      'a default above the system’s maximum',
      'x',
      { type: 'cloud', config: { default_lease_ttl: '769h' } },
      'default_lease_ttl',
    ],
    [
      'an unknown token type',
      'x',
      { type: 'cloud', config: { token_type: 'x' } },
      'token_type must be one of',
    ],
    [
      'an unknown visibility',
      'x',
      { type: 'cloud', config: { listing_visibility: 'x' } },
      'listing_visibility',
    ],
  ])('%s is rejected', (_, path, given, message) => {
    expect(() => enableMount(at(path, given))).toThrow(message)
  })
})

describe('tuning a mount', () => {
  test('omitted settings and the position in the list are kept', () => {
    const outcome = tuneMount(at('cloud', { max_lease_ttl: 60, default_lease_ttl: 30 }))
    expect(written(outcome).mounts).toEqual([tokenMount, mount({ maxLeaseTtl: 60, defaultLeaseTtl: 30 })])
    expect(last(tuneMount(at('cloud', { token_type: '' })))).toMatchObject({ tokenType: 'default-service' })
    expect(last(tuneMount(at('cloud', { description: '' })))).toMatchObject({ description: '' })
  })

  const lists = {
    audit_non_hmac_request_keys: ['pkcs7'],
    audit_non_hmac_response_keys: ['tag_value'],
    passthrough_request_headers: ['X-One', 'X-Two'],
    allowed_response_headers: ['X-Three'],
  }
  const tune = (raw: object) =>
    tuneMount(at('cloud', readParameterFields(tuneMountFields, { ...raw }).parameters, raw))

  test('audit keys and header lists are stored and returned', () => {
    const next = last(tune(lists)) as Mount
    const after = { ...at('cloud'), subject: { ...subject, data: { mounts: [next], removing: [] } } }
    expect(readMountTuning(callWith(after)).answer).toMatchObject({ data: lists })
    expect(readMount(callWith(after)).answer).toMatchObject({ data: { config: lists, options: {} } })
    expect([unmaskedAuditKeys(next, 'request'), unmaskedAuditKeys(next, 'response')]).toEqual([
      ['pkcs7'],
      ['tag_value'],
    ])
  })

  test('an empty list is cleared and not returned, an omitted list is kept', () => {
    const stored = { ...subject, data: { mounts: [mount({ options: lists })], removing: [] } }
    const given = { passthrough_request_headers: [] }
    const next = last(tuneMount(callWith({ ...at('cloud', given), subject: stored }))) as Mount
    expect(next.options).toEqual({ ...lists, ...given })
    const read = callWith({ ...at('cloud'), subject: { ...subject, data: { mounts: [next], removing: [] } } })
    const { answer } = readMountTuning(read)
    expect(answer).toMatchObject({ data: { allowed_response_headers: ['X-Three'] } })
    expect(answer).not.toHaveProperty('data.passthrough_request_headers')
  })

  test('settings without effect cause a warning', () => {
    expect(tune({ ...lists, description: 'd' }).answer.warnings).toEqual([
      'passthrough_request_headers is stored, but has no effect',
      'allowed_response_headers is stored, but has no effect',
    ])
    const quiet = { description: 'd', passthrough_request_headers: [], audit_non_hmac_request_keys: ['a'] }
    expect(tune(quiet).answer.warnings).toBeUndefined()
  })

  test.each([
    ['options', { version: '2' }],
    ['force_no_cache', true],
    ['plugin_version', 'v1.0.0'],
    ['identity_token_key', 'default'],
    ['user_lockout_config', { lockout_threshold: '5' }],
    ['allowed_managed_keys', ['a']],
    ['delegated_auth_accessors', ['a']],
    ['trim_request_trailing_slashes', true],
  ])('%s is rejected unless it has a neutral value', (name, value) => {
    expect(() => tune({ [name]: value })).toThrow(`${name} must be empty`)
    const config = { [name]: value }
    expect(() => enableMount(at('x', { type: 'cloud', config }))).toThrow(`${name} must be empty`)
    for (const neutral of [null, '', false, {}, []])
      expect(last(tune({ [name]: neutral, description: 'd' }))).toEqual(mount({ description: 'd' }))
  })

  test('an empty TTL keeps the value, and `system` resets it', () => {
    const stored = {
      ...subject,
      data: { mounts: [mount({ maxLeaseTtl: 60, defaultLeaseTtl: 30 })], removing: [] },
    }
    const next = (raw: object) =>
      last(
        tuneMount(
          callWith({
            ...at('cloud', readParameterFields(tuneMountFields, { ...raw }).parameters),
            subject: stored,
          }),
        ),
      )
    expect(next({ default_lease_ttl: '', max_lease_ttl: '' })).toMatchObject({
      maxLeaseTtl: 60,
      defaultLeaseTtl: 30,
    })
    expect(next({ default_lease_ttl: 'system', max_lease_ttl: 'system' })).toMatchObject({
      maxLeaseTtl: 0,
      defaultLeaseTtl: 0,
    })
  })

  test.each(['token', 'id'])('the token store’s %s is never shown', name => {
    for (const part of ['request', 'response']) {
      const given = { [`audit_non_hmac_${part}_keys`]: ['ttl', name] }
      expect(() => tuneMount(at('token', given))).toThrow('the audit log never shows tokens')
      expect(tuneMount(at('cloud', given)).changes).toHaveLength(2)
    }
  })

  test('the tuning is returned with effective values', () => {
    expect(readMountTuning(at('cloud')).answer).toMatchObject({
      data: { default_lease_ttl: 2_764_800, max_lease_ttl: 2_764_800, token_type: 'default-service' },
    })
  })

  test('tuning a missing mount is rejected', () => {
    expect(() => tuneMount(at('nothing'))).toThrow('there is no auth method at nothing/')
    expect(() => readMountTuning(at('nothing'))).toThrow('there is no auth method')
    expect(() => readMount(at('nothing'))).toThrow('there is no auth method')
  })
})

describe('disabling a mount', () => {
  test('the mount disappears at once, and its items are removed later', async () => {
    const started: unknown[] = []
    const call = {
      ...at('cloud'),
      ports: { background: { start: async (job: unknown) => void started.push(job) } },
    }
    const outcome = disableMount(callWith({ ...call }))
    expect(written(outcome)).toEqual({
      mounts: [tokenMount],
      removing: [{ ...mount(), disabledAt: 1_000_000_000_000 }],
    })
    expect(started).toEqual([])
    await outcome.afterwards?.()
    expect(started).toEqual([{ job: 'remove-mount', mount: 'auth_cloud_1' }])
  })

  test('disabling a missing mount succeeds, and the token store cannot be disabled', () => {
    expect(disableMount(at('nothing'))).toEqual({ answer: { kind: 'nothing' } })
    expect(() => disableMount(at('token'))).toThrow('cannot be disabled')
  })
})

test('mounts are listed by path, sorted', () => {
  const { answer } = listMounts(at(''))
  expect(Object.keys((answer as { data: object }).data)).toEqual(['cloud/', 'token/'])
  expect(answer).toMatchObject({ data: { 'cloud/': { accessor: 'auth_cloud_1', type: 'cloud' } } })
})

test('the built-in engines are system and identity, with permanent IDs', () => {
  const { answer } = listSecretEngines(at(''))
  const { data } = answer as { data: Record<string, { uuid: string; accessor: string }> }
  expect(Object.keys(data)).toEqual(['identity/', 'sys/'])
  expect(data).toMatchObject({
    'identity/': { type: 'identity', options: {}, accessor: expect.stringMatching(/^identity_[0-9a-f]{8}$/) },
    'sys/': { type: 'system', options: {}, accessor: expect.stringMatching(/^system_[0-9a-f]{8}$/) },
  })
  expect(new Set(Object.values(data).map(({ uuid }) => uuid)).size).toBe(2)
  for (const { uuid } of Object.values(data))
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  const more = { mounts: [...table.mounts, mount({ path: 'other' })], removing: [] }
  expect(listSecretEngines(callWith({ subject: { ...subject, data: more }, ports })).answer).toEqual(answer)
})

test('anonymous callers see only mounts with listing_visibility unauth (CVE-2020-25594)', () => {
  const shown = mount({ path: 'open', options: { listing_visibility: 'unauth' }, description: 'd' })
  const mounts = {
    mounts: [...table.mounts, shown],
    removing: [mount({ path: 'gone', options: { listing_visibility: 'unauth' } })],
  }
  expect(listVisibleMounts(callWith({ mounts })).answer).toEqual({
    kind: 'data',
    data: { auth: { 'open/': { type: 'cloud', description: 'd', options: {} } }, secret: {} },
  })
})

describe('properties of a mount', () => {
  test.each([
    [{}, 2_764_800, 2_764_800],
    [{ defaultLeaseTtl: 60 }, 60, 2_764_800],
    [{ maxLeaseTtl: 60 }, 2_764_800, 60],
  ])('the mount %j has TTLs of %i and %i seconds', (parts, usual, most) => {
    expect([defaultTtlOfMount(mount(parts)), maxTtlOfMount(mount(parts))]).toEqual([usual, most])
  })

  test('a mount is found at its path until it is removed, and its type decides its method', () => {
    const removed = {
      ...table,
      removing: [{ ...mount({ accessor: 'gone', path: 'gone' }), disabledAt: 0 }],
    }
    expect(findMountByPath(removed, 'cloud')).toEqual(mount())
    expect(findMountByPath(removed, 'gone')).toBeUndefined()
    expect(isMountedAccessor(removed, 'auth_cloud_1')).toBe(true)
    expect(isMountedAccessor(removed, 'gone')).toBe(false)
    expect([isAuthMethodMount(mount()), isAuthMethodMount(tokenMount)]).toEqual([true, false])
    const legacy = (['cloud', 'aws', 'cloud-ec2', 'aws-ec2'] as const).map(type =>
      isLegacyEc2(mount({ type })),
    )
    expect(legacy).toEqual([false, false, true, true])
  })

  test('two successive mounts at one path share nothing', () => {
    const [one, two] = ['11111111-2222-4333-8444-555555555555', UUID].map(uuid =>
      createMount({ path: 'x', type: 'cloud', description: '' }, uuid),
    )
    expect(one?.accessor).not.toBe(two?.accessor)
  })
})
