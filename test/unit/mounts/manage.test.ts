import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../shared/api/call.ts'
import {
  disableMount,
  enableMount,
  listMounts,
  readMount,
  readTuning,
  tuneMount,
  visibleMounts,
} from '../../../shared/mounts/manage.ts'
import {
  defaultTtlOf,
  isLegacyEc2,
  isMethod,
  isMounted,
  type Mount,
  type MountTable,
  maxTtlOf,
  mountAt,
} from '../../../shared/mounts/mount.ts'
import { newMount } from '../../../shared/mounts/new-mount.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { callWith } from '../support/call.ts'
import { mount } from '../tokens/support.ts'

const tokenMount = mount({ path: 'token', type: 'token', accessor: 'auth_token_1' })
const table: MountTable = { mounts: [tokenMount, mount()], removing: [] }
const subject: Item<'mounts'> = { ...key('mounts'), rev: 'r1', data: table }
const UUID = '01234567-89ab-4cde-8f01-23456789abcd'
const at = (path: string, given: object = {}) =>
  callWith({
    params: { method_path: path },
    given,
    subject,
    mounts: table,
    ports: { entropy: { uuid: () => UUID } },
  })

const written = ({ changes = [] }: Outcome): MountTable => (changes[0] as { data: MountTable }).data
const last = (outcome: Outcome): Mount | undefined => written(outcome).mounts.at(-1)

describe('enabling a mount', () => {
  test('puts it behind the others, with an accessor that is new', () => {
    const outcome = enableMount(at('second', { type: 'aws', description: 'more' }))
    expect(outcome.changes).toMatchObject([{ put: key('mounts'), expected: { rev: 'r1' } }])
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

  test('takes settings as its tuning does', () => {
    const config = {
      default_lease_ttl: '1h',
      max_lease_ttl: 7200,
      token_type: 'batch',
      listing_visibility: 'unauth',
      extra: 1,
    }
    expect(last(enableMount(at('x', { type: 'cloud', config })))).toMatchObject({
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
    ['no path', '', { type: 'cloud' }, 'may hold'],
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
  ])('%s is refused', (_, path, given, message) => {
    expect(() => enableMount(at(path, given))).toThrow(message)
  })
})

describe('tuning a mount', () => {
  test('keeps what is not supplied, and the place in the list', () => {
    const outcome = tuneMount(at('cloud', { max_lease_ttl: 60, default_lease_ttl: 30 }))
    expect(written(outcome).mounts).toEqual([tokenMount, mount({ maxLeaseTtl: 60, defaultLeaseTtl: 30 })])
    expect(last(tuneMount(at('cloud', { token_type: '' })))).toMatchObject({ tokenType: 'default-service' })
    expect(last(tuneMount(at('cloud', { description: '' })))).toMatchObject({ description: '' })
  })

  test('reads back as what counts', () => {
    expect(readTuning(at('cloud')).answer).toMatchObject({
      data: { default_lease_ttl: 2_764_800, max_lease_ttl: 2_764_800, token_type: 'default-service' },
    })
  })

  test('needs a mount that is there', () => {
    expect(() => tuneMount(at('nothing'))).toThrow('there is no auth method at nothing/')
    expect(() => readTuning(at('nothing'))).toThrow('there is no auth method')
    expect(() => readMount(at('nothing'))).toThrow('there is no auth method')
  })
})

describe('disabling a mount', () => {
  test('takes it away at once and removes its items later', async () => {
    const started: unknown[] = []
    const call = {
      ...at('cloud'),
      ports: { background: { start: async (job: unknown) => void started.push(job) } },
    }
    const outcome = disableMount(callWith({ ...call }))
    expect(written(outcome)).toEqual({ mounts: [tokenMount], removing: [mount()] })
    expect(started).toEqual([])
    await outcome.afterwards?.()
    expect(started).toEqual([{ job: 'remove-mount', mount: 'auth_cloud_1' }])
  })

  test('one that is not there is as good as disabled; the token store stays', () => {
    expect(disableMount(at('nothing'))).toEqual({ answer: { kind: 'nothing' } })
    expect(() => disableMount(at('token'))).toThrow('cannot be disabled')
  })
})

test('mounts are listed by path, sorted', () => {
  const { answer } = listMounts(at(''))
  expect(Object.keys((answer as { data: object }).data)).toEqual(['cloud/', 'token/'])
  expect(answer).toMatchObject({ data: { 'cloud/': { accessor: 'auth_cloud_1', type: 'cloud' } } })
})

test('everybody sees only what is meant for everybody (CVE-2020-25594)', () => {
  const shown = mount({ path: 'open', options: { listing_visibility: 'unauth' }, description: 'd' })
  const mounts = {
    mounts: [...table.mounts, shown],
    removing: [mount({ path: 'gone', options: { listing_visibility: 'unauth' } })],
  }
  expect(visibleMounts(callWith({ mounts })).answer).toEqual({
    kind: 'data',
    data: { auth: { 'open/': { type: 'cloud', description: 'd', options: null } }, secret: {} },
  })
})

describe('what a mount means', () => {
  test.each([
    [{}, 2_764_800, 2_764_800],
    [{ defaultLeaseTtl: 60 }, 60, 2_764_800],
    [{ maxLeaseTtl: 60 }, 2_764_800, 60],
  ])('%j: lifetimes of %i and %i seconds', (parts, usual, most) => {
    expect([defaultTtlOf(mount(parts)), maxTtlOf(mount(parts))]).toEqual([usual, most])
  })

  test('where it is, whether it lives, what it is', () => {
    const removed = { ...table, removing: [mount({ accessor: 'gone', path: 'gone' })] }
    expect(mountAt(removed, 'cloud')).toEqual(mount())
    expect(mountAt(removed, 'gone')).toBeUndefined()
    expect(isMounted(removed, 'auth_cloud_1')).toBe(true)
    expect(isMounted(removed, 'gone')).toBe(false)
    expect([isMethod(mount()), isMethod(tokenMount)]).toEqual([true, false])
    const legacy = (['cloud', 'aws', 'cloud-ec2', 'aws-ec2'] as const).map(type =>
      isLegacyEc2(mount({ type })),
    )
    expect(legacy).toEqual([false, false, true, true])
  })

  test('two mounts at one path after each other have nothing in common', () => {
    const [one, two] = ['11111111-2222-4333-8444-555555555555', UUID].map(uuid =>
      newMount({ path: 'x', type: 'cloud', description: '' }, uuid),
    )
    expect(one?.accessor).not.toBe(two?.accessor)
  })
})
