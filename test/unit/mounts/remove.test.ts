import { describe, expect, test } from 'vitest'
import { jobRun } from '../../../shared/jobs/job.ts'
import { removeMount } from '../../../shared/mounts/remove.ts'
import type { Ports } from '../../../shared/ports.ts'
import { type Item, type Kind, key } from '../../../shared/storage/kinds.ts'
import { memoryStore } from '../support/memory-store.ts'
import { NOW, token } from '../tokens/support.ts'

const GONE = 'auth_gone'

const tokenOf = (name: string, mount: string): Item<'token'> => ({
  ...key('token', name),
  rev: 'r',
  data: token({ mount }),
})

/** A cluster with a disabled mount, on an engine that passes over every second item of a scan. */
function around(items: Item[]) {
  const memory = memoryStore([
    {
      ...key('cluster'),
      rev: 'r',
      data: { id: 'c', name: 'c', mode: 'primary', keyring: 'k', initialisedAt: 0 },
    },
    {
      ...key('mounts'),
      rev: 'r',
      data: { mounts: [], removing: [{ accessor: GONE, name: 'gone', type: 'cloud' }] },
    } as unknown as Item,
    ...items,
  ])
  const scan = async function* (kind: Kind, { index }: { index: number }) {
    const found = [...memory.stored.values()].filter(item => item.kind === kind)
    if (index === 0) yield { items: found.filter((_, place) => place % 2 === 0), next: undefined }
  }
  const ports = {
    store: { ...memory.store, scan, list: async () => [] },
    clock: { now: () => NOW },
    sealer: { expect: () => undefined },
  } as unknown as Ports
  const tokens = () => [...memory.stored.values()].filter(item => item.kind === 'token').map(item => item.pk)
  const removing = () =>
    [...memory.stored.values()].flatMap(item => (item.kind === 'mounts' ? item.data.removing : []))
  return { run: jobRun(ports, NOW + 1000), tokens, removing }
}

describe('removal of a disabled mount', () => {
  test('goes on until a whole pass has found no token of it, and is forgotten only then', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const { run, tokens, removing } = around([
      ...names.map(name => tokenOf(name, GONE)),
      tokenOf('stays', 'auth_other'),
    ])
    let job: Parameters<typeof removeMount>[1] = { mount: GONE }
    for (let runs = 0; runs < names.length; runs++) {
      const result = await removeMount(run, job)
      if (result === 'done') break
      expect(removing()).toHaveLength(1)
      job = result.again as typeof job
    }
    expect(tokens()).toEqual(['token#stays'])
    expect(removing()).toEqual([])
  })
})
