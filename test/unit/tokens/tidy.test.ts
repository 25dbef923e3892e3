import { describe, expect, test } from 'vitest'
import { createJobRun, type JobRun } from '../../../shared/jobs/job.ts'
import type { Ports } from '../../../shared/ports.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { listTokenAccessors } from '../../../shared/tokens/accessors.ts'
import { startTokenTidy, tidyTokens } from '../../../shared/tokens/tidy.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { portsWith } from '../../builders/ports.ts'
import { callWith } from '../../support/requests/call.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { mount, NOW, token } from './support.ts'

const tokenItem = (name: string, parts: object = {}): Item<'token'> =>
  item(key('token', name), token(parts), 'r')
const pointer = (parent: string, child: string): Item<'child'> => item(key('child', parent, child), {}, 'r')
const base: Item[] = [
  clusterItem(),
  { ...key('mounts'), rev: 'r', data: { mounts: [mount()], removing: [] } },
]

/** Builds a run of the job over all segments. */
function around(items: Item[], deadline = NOW + 1000): { run: JobRun; names: () => string[]; ports: Ports } {
  const memory = memoryStore([...base, ...items])
  const ports = portsWith({
    store: memory.as('on-job'),
    clock: { now: () => NOW },
    cipher: { expectKeyring: () => undefined },
    log: { info: () => undefined },
  })
  const names = () =>
    [...memory.stored.of('token'), ...memory.stored.of('child')]
      .map(({ kind, pk, sk }) => `${kind} ${pk} ${sk}`)
      .sort()
  return { run: createJobRun(ports, deadline), names, ports }
}

const job = { of: 'token', at: { segment: 0 } } as const

describe('tidying tokens', () => {
  test('tokens that have lost an ancestor and stale parent index entries are removed', async () => {
    const { run, names } = around([
      tokenItem('root'),
      tokenItem('kid', { parent: 'root' }),
      pointer('root', 'kid'),
      tokenItem('lost', { parent: 'gone' }),
      pointer('gone', 'lost'),
      tokenItem('grandchild', { parent: 'lost' }),
      pointer('lost', 'grandchild'),
      pointer('root', 'nobody'),
    ])
    expect(await tidyTokens(run, job)).toBe('done')
    expect(names()).toEqual(['child token#root kid', 'token token#kid token', 'token token#root token'])
  })

  test('a failed removal fails the run, but the rest is removed', async () => {
    const { run, names, ports } = around([tokenItem('stuck', { parent: 'gone' }), pointer('root', 'nobody')])
    const told: unknown[] = []
    const { commit } = ports.store
    Object.assign(ports.log, { error: (_: string, fields: unknown) => void told.push(fields) })
    Object.assign(ports.store, {
      commit: (...given: Parameters<typeof commit>) =>
        JSON.stringify(given[0]).includes('stuck')
          ? Promise.reject(new Error('throttled'))
          : commit(...given),
    })
    await expect(tidyTokens(run, job)).rejects.toThrow('1 tokens could not be tidied')
    expect(names()).toEqual(['token token#stuck token'])
    expect(told).toEqual([{ removed: 1, failed: 1 }])
  })

  test('a new token with the chosen ID of a removed child is kept', async () => {
    const { run, names } = around([
      tokenItem('root'),
      tokenItem('mine', { parent: 'root' }),
      pointer('root', 'mine'),
      pointer('gone', 'mine'),
    ])
    expect(await tidyTokens(run, job)).toBe('done')
    expect(names()).toEqual(['child token#root mine', 'token token#mine token', 'token token#root token'])
  })

  test('a run without time left continues later', async () => {
    const { run } = around([tokenItem('a')], NOW)
    expect(await tidyTokens(run, job)).toEqual({ again: { of: 'token', at: { segment: 1 } } })
    expect(await tidyTokens(run, { of: 'child', at: { segment: 1 } })).toEqual({
      again: { of: 'child', at: { segment: 2 } },
    })
    expect(await tidyTokens(run, { of: 'child', at: { segment: 4 } })).toBe('done')
  })

  test('the run starts in the background', async () => {
    const started: unknown[] = []
    const ports = { background: { start: async (one: unknown) => void started.push(one) } }
    const { answer } = await startTokenTidy(callWith({ ports }))
    expect(answer).toMatchObject({ kind: 'accepted', warnings: [expect.any(String)] })
    expect(started).toEqual([{ job: 'token-tidy', of: 'token', at: { segment: 0 } }])
  })
})

test('the list of accessors contains those of all valid tokens, sorted', async () => {
  const { ports } = around([
    tokenItem('b'),
    tokenItem('a'),
    tokenItem('old', { ttl: 5 }),
    tokenItem('of-gone', { mount: 'gone' }),
  ])
  const mounts = { mounts: [mount()], removing: [] }
  expect((await listTokenAccessors(callWith({ ports, mounts }))).answer).toEqual({
    kind: 'keys',
    keys: ['a', 'b'],
  })
})
