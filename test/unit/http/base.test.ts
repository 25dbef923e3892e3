import { describe, expect, test } from 'vitest'
import { answer, noContentAnswer } from '../../../shared/api/call.ts'
import { allowAnyone, allowByPolicy, declareEndpoint } from '../../../shared/api/endpoint.ts'
import { invalidRequestError } from '../../../shared/api/errors.ts'
import { findMount, readFirst } from '../../../shared/http/base.ts'
import type { RequestIntake } from '../../../shared/http/intake.ts'
import type { ClusterMode } from '../../../shared/model/cluster.ts'
import type { EnvironmentMemory } from '../../../shared/ports.ts'
import { type Item, type Key, key } from '../../../shared/storage/kinds.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher, mount } from '../tokens/support.ts'

const SECOND = 1000

const tableItem = (rev: string, ...paths: string[]): Item<'mounts'> =>
  item(key('mounts'), { mounts: paths.map(path => mount({ path })), removing: [] }, rev)
const revisionItem = (rev: string): Item<'mounts-revision'> => ({ ...key('mounts-revision'), rev, data: {} })
const recordItem = (mode: ClusterMode = 'primary') => clusterItem({ mode })

/** Builds an environment: its memory, the stored items, and the reads of each request. */
function environment(items: readonly Item[] = [recordItem(), tableItem('r1', 'cloud'), revisionItem('r1')]) {
  const { store, stored } = memoryStore(items)
  const memory: EnvironmentMemory = {}
  const reads: string[][] = []
  const clock = { ms: 0, readTakes: 0 }
  const read = (keys: readonly Key[]) => {
    reads.push(keys.map(one => one.kind))
    clock.ms += clock.readTakes
    return store.read(keys)
  }
  const ports = portsWith({
    store: { ...store, read },
    cipher: { ...clearCipher, keysToRead: () => [], expectKeyring: () => undefined },
    clock: { now: () => clock.ms },
    memory,
  })
  const place = stored.put
  const base = async (intake: RequestIntake, more: readonly Key[] = []) => {
    reads.length = 0
    const found = await readFirst(intake, more, ports)
    return {
      mount: findMount(intake.match.pathParameters, found)?.path,
      cluster: found.cluster?.record.mode,
      reads: [...reads],
    }
  }
  const mounted = (rev: string, ...paths: string[]) =>
    [tableItem(rev, ...paths), revisionItem(rev)].forEach(place)
  const attempt = (given: RequestIntake, more: readonly Key[]) => readFirst(given, more, ports)
  return { base, attempt, reads, place, mounted, memory, clock }
}

const row = (access: typeof allowAnyone) =>
  declareEndpoint({
    method: 'POST',
    path: '/auth/:mount/x',
    summary: 'x',
    access,
    answers: 'nothing',
    handle: () => answer(noContentAnswer()),
  })
const intake = (parts: Partial<RequestIntake>, path = 'cloud', access = allowAnyone): RequestIntake =>
  ({
    match: { endpoint: row(access), pathParameters: { mount: path }, path: 'x' },
    keys: [],
    ...parts,
  }) as RequestIntake
const login = (path = 'cloud') => intake({}, path)
const guarded = (parts: Partial<RequestIntake> = {}) => intake(parts, 'cloud', allowByPolicy('update'))
const missed = (open: boolean) =>
  ({ match: { kind: 'miss', miss: 'path', open, pathParameters: {}, path: 'x' } }) as Partial<RequestIntake>
const token = new Secret('hvs.x')

test.each<[string, RequestIntake]>([
  ['a login', login()],
  ['a request that cannot succeed', guarded()],
])("the cluster record's age counts from the start of its read: %s", async (_, given) => {
  const { base, clock, memory } = environment()
  clock.ms = 100 * SECOND
  clock.readTakes = 19 * SECOND
  await base(given)
  expect(memory.cluster?.readAt).toBe(100 * SECOND)
})

describe('a request that cannot succeed reads only the cluster record', () => {
  test.each<[string, RequestIntake]>([
    ['a request without a token', guarded()],
    ['a request without a token for an unknown path', intake(missed(false))],
    ['an operation that no endpoint supports', intake({ ...missed(true), token })],
    ['a request with an invalid body', guarded({ token, bodyFault: invalidRequestError('x') })],
    ['a login with an invalid body', intake({ bodyFault: invalidRequestError('x') })],
    ['a login with an invalid proof', intake({ fault: invalidRequestError('x') })],
  ])('%s', async (_, given) => {
    const { base } = environment()
    expect(await base(given)).toMatchObject({ cluster: 'primary', reads: [['cluster']] })
    expect((await base(given)).reads).toEqual([['cluster']])
  })

  test('a login at a missing mount reads one small item', async () => {
    const { base } = environment()
    await base(login())
    expect(await base(login('no'))).toEqual({
      mount: undefined,
      cluster: 'primary',
      reads: [['mounts-revision']],
    })
  })

  test.each<[string, number]>([
    ['seconds old', 6 * SECOND],
    ['in the future, because the clock was set back', -SECOND],
  ])('a remembered cluster record is not used to reject a request if it is %s', async (_, later) => {
    const { base, clock, place } = environment()
    await base(login())
    clock.ms += later
    place(recordItem('secondary'))
    expect(await base(login('no'))).toMatchObject({
      cluster: 'secondary',
      reads: [['cluster', 'mounts-revision']],
    })
  })

  test('a remembered cluster record is not used if the cluster served no clients', async () => {
    const { base, place } = environment()
    place(recordItem('secondary'))
    await base(login())
    place(recordItem('primary'))
    expect(await base(login('no'))).toMatchObject({ cluster: 'primary' })
  })
})

describe('the mount table', () => {
  test('the mount table is read once, then remembered by its revision', async () => {
    const { base } = environment()
    expect(await base(login())).toMatchObject({
      mount: 'cloud',
      reads: [['cluster', 'mounts-revision', 'mounts']],
    })
    expect(await base(login())).toMatchObject({ mount: 'cloud', reads: [['cluster', 'mounts-revision']] })
    expect(await base(guarded({ token }))).toMatchObject({
      mount: 'cloud',
      reads: [['cluster', 'mounts-revision', 'token']],
    })
  })

  test.each([0, 365 * 24 * 3600 * SECOND])(
    'a changed mount table is used at once, %i ms after the change',
    async later => {
      const { base, mounted, clock } = environment()
      await base(login())
      clock.ms += later
      mounted('r2', 'new')
      expect(await base(login('new'))).toMatchObject({ mount: 'new', cluster: 'primary' })
      mounted('r3', 'cloud')
      expect((await base(login('new'))).mount).toBeUndefined()
      expect((await base(login('cloud'))).mount).toBe('cloud')
      expect(await base(guarded({ token }))).toMatchObject({ mount: 'cloud', reads: [expect.any(Array)] })
    },
  )

  test.each<[string, Item[]]>([
    ['a revision from before a change', [revisionItem('r0')]],
    ['no revision', []],
  ])('a mount table read with %s is used but not remembered', async (_, revision) => {
    const { base, memory } = environment([recordItem(), tableItem('r1', 'cloud'), ...revision])
    expect((await base(login())).mount).toBe('cloud')
    expect(memory.mounts).toBeUndefined()
  })

  test('the mount table is not used before initialisation', async () => {
    const { base, memory } = environment([tableItem('r1', 'cloud'), revisionItem('r1')])
    expect(await base(login())).toMatchObject({ mount: undefined, cluster: undefined })
    expect(memory).toEqual({})
  })
})

test('a token sent with a login is not read', async () => {
  const { base } = environment()
  expect((await base(intake({ token }))).reads).toEqual([['cluster', 'mounts-revision', 'mounts']])
  expect((await base(guarded({ token }))).reads).toEqual([['cluster', 'mounts-revision', 'token']])
})

describe('reading the items of a commit attempt', () => {
  test('missing items are read in one batch, and known items are not read again', async () => {
    const role = key('role', 'auth_cloud_1', 'dev')
    const alias = key('alias', 'auth_cloud_1', 'r-1')
    const tidy = key('tidy-settings', 'auth_cloud_1', 'identity-accesslist')
    const roleItem = { ...role, rev: 'r', data: {} } as unknown as Item
    const { attempt, reads } = environment([
      recordItem(),
      tableItem('r1', 'cloud'),
      revisionItem('r1'),
      roleItem,
    ])
    const { fetched } = await attempt(login(), [role])
    reads.length = 0
    expect(await fetched.read([alias, role, tidy])).toEqual([undefined, roleItem, undefined])
    expect(reads).toEqual([['alias', 'tidy-settings']])
    // an absent item is not read again
    expect(await fetched.read([tidy, role])).toEqual([undefined, roleItem])
    expect(reads).toHaveLength(1)
    expect(fetched.keys()).toEqual([role, alias, tidy])
  })
})
