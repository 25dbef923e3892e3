import { describe, expect, test } from 'vitest'
import { createJobRun } from '../../../shared/jobs/job.ts'
import { accessorOfHash, tokenHashOf } from '../../../shared/model/token.ts'
import { removeMountData } from '../../../shared/mounts/remove.ts'
import {
  type Item,
  itemKindSpec,
  itemKinds,
  type Key,
  type Kind,
  key,
} from '../../../shared/storage/kinds.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { portsWith } from '../../builders/ports.ts'
import { item, keyOfKind } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { mount, NOW, token } from '../tokens/support.ts'

const GONE = 'auth_gone'

const tokenOf = (name: string, mount: string): Item<'token'> =>
  item(key('token', name), token({ mount }), 'r')

/** Builds a cluster with a disabled mount, on an engine whose scan skips every second item. */
function around(items: Item[]) {
  const memory = memoryStore([
    clusterItem(),
    item(
      key('mounts'),
      {
        mounts: [],
        removing: [{ ...mount({ accessor: GONE, path: 'gone' }), disabledAt: NOW - 30_000 }],
      },
      'r',
    ),
    ...items,
  ])
  const scan = async function* (wanted: readonly Kind[], { index }: { index: number }) {
    const found = memory.stored.all().filter(item => wanted.includes(item.kind))
    if (index === 0) yield { items: found.filter((_, place) => place % 2 === 0), next: undefined }
  }
  const clock = { ms: NOW, now: () => clock.ms }
  const ports = portsWith({
    store: { ...memory.as('on-job'), scan },
    clock,
    cipher: { expectKeyring: () => undefined },
  })
  const tokens = () => memory.stored.of('token').map(item => item.pk)
  const removing = () => memory.stored.of('mounts').flatMap(item => item.data.removing)
  return { run: createJobRun(ports, NOW + 1_000_000), clock, stored: memory.stored, tokens, removing }
}

/** Runs the removal job until it is done. */
async function removed(
  run: ReturnType<typeof createJobRun>,
  meanwhile: () => void = () => undefined,
): Promise<void> {
  let job: Parameters<typeof removeMountData>[1] = { mount: GONE }
  for (let runs = 0; runs < 10; runs++) {
    const result = await removeMountData(run, job)
    if (result === 'done') return
    meanwhile()
    job = result.again as unknown as typeof job
  }
  throw new Error('the removal never comes to an end')
}

/** Builds one item of every kind that a mount or its logins may own. */
function belongings(mount: string): Item[] {
  const stored = (place: Key, data: object): Item => ({ ...place, rev: 'r', data }) as unknown as Item
  const named = { entityId: `${mount}-entity`, aliasId: `${mount}-alias` }
  const hash = tokenHashOf(mount)
  const accessor = accessorOfHash(hash)
  const owned = (Object.keys(itemKinds) as Kind[])
    .filter(kind => typeof itemKindSpec(kind).pk === 'function')
    .map(kind => keyOfKind(kind, mount, kind))
    .filter(place => !place.pk.startsWith('token#'))
  return [
    ...owned.map(place => stored(place, place.kind === 'alias' ? named : {})),
    stored(key('entity', named.entityId), {}),
    stored(key('alias-id', named.aliasId), {}),
    stored(key('token', accessor), token({ mount, hash })),
    stored(key('child', accessor, `${mount}-child`), {}),
    stored(key('token', `${mount}-child`), token({ parent: accessor })),
    stored(key('wrapped', accessor), { mount }),
  ]
}

describe('removing a disabled mount', () => {
  test('the removal repeats until a whole pass finds no token, then forgets the mount', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const { run, tokens, removing } = around([
      ...names.map(name => tokenOf(name, GONE)),
      tokenOf('stays', 'auth_other'),
    ])
    await removed(run, () => expect(removing()).toHaveLength(1))
    expect(tokens()).toEqual(['token#stays'])
    expect(removing()).toEqual([])
  })

  test('everything of the mount and its logins is removed, and nothing else', async () => {
    const others = belongings('auth_other')
    const { run, stored, removing } = around([...belongings(GONE), ...others])
    await removed(run)
    const left = stored.all().filter(({ kind }) => kind !== 'cluster' && !kind.startsWith('mounts'))
    const placesOf = (items: readonly Item[]) => items.map(({ kind, pk, sk }) => `${kind} ${pk} ${sk}`).sort()
    expect(placesOf(left)).toEqual(placesOf(others))
    expect(removing()).toEqual([])
  })

  test('items of a late login are removed by a later pass', async () => {
    const { run, clock, stored, removing } = around([])
    const alias = { ...key('alias', GONE, 'late'), rev: 'r', data: { entityId: 'e', aliasId: 'a' } } as Item
    clock.ms = NOW - 1
    await removed(run)
    expect(removing()).toHaveLength(1)
    stored.put(alias)
    clock.ms = NOW
    await removed(run)
    expect([stored.at(alias), removing()]).toEqual([undefined, []])
  })

  test('a pass that began too early does not forget the mount', async () => {
    const { run, clock, removing } = around([])
    await removeMountData(run, { mount: GONE, began: NOW - 1 })
    expect(removing()).toHaveLength(1)
    clock.ms = NOW + 1000
    await removeMountData(run, { mount: GONE, began: NOW - 1 })
    expect(removing()).toHaveLength(1)
    await removeMountData(run, { mount: GONE, began: NOW })
    expect(removing()).toEqual([])
  })

  test('a mount without a disabling time is kept, because writes may still arrive', async () => {
    const { run, stored, removing } = around([])
    const table = stored.at(key('mounts')) as Item<'mounts'>
    const [{ disabledAt: _, ...early } = { accessor: '' }] = table.data.removing
    stored.put({ ...table, data: { mounts: [], removing: [early] } } as unknown as Item)
    await removed(run)
    expect(removing()).toHaveLength(1)
  })
})
