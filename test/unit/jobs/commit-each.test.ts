import { describe, expect, test } from 'vitest'
import {
  type ChangeGroup,
  commitEachGroup,
  countGroupOutcomes,
  countGroupsPerCommit,
} from '../../../shared/jobs/commit-each.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { ClusterRead } from '../../../shared/ports.ts'
import { removeItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { portsWith } from '../../builders/ports.ts'

const of = (...names: string[]): ChangeGroup => names.map(name => removeItem(key('policy', name)))
const numbered = (count: number): ChangeGroup[] => Array.from({ length: count }, (_, index) => of(`${index}`))

const plain = { mode: 'primary' } as ClusterRecord
const journaled = { mode: 'primary', epoch: 'e', treeId: 'l' } as ClusterRecord

interface World {
  record?: ClusterRecord | undefined
  deadline?: number
  /** the result of a commit; default: success */
  verdict?: (names: readonly string[]) => 'conflict' | Error | undefined
}

/** Records commits with their start times. The clock advances only while code sleeps. */
function committing({ record, deadline = 1_000_000, verdict = () => undefined }: World) {
  const commits: { names: string; at: number }[] = []
  const state = { now: 0, running: 0, most: 0 }
  const store = {
    commit: async (changes: ChangeGroup) => {
      const names = changes.map(change => change.key.sk)
      commits.push({ names: names.join(), at: state.now })
      state.running += 1
      state.most = Math.max(state.most, state.running)
      await Promise.resolve()
      state.running -= 1
      const said = verdict(names)
      if (said instanceof Error) throw said
      return said ?? 'done'
    },
  }
  const clock = {
    now: () => state.now,
    sleep: async (ms: number) => {
      state.now += ms
    },
  }
  const read = record && ({ record, readAt: 0 } as ClusterRead)
  const ports = portsWith({ store, clock })
  return { commits, state, it: { ports, cluster: async () => read, deadline } }
}

describe('committing independent groups of changes', () => {
  test('without a journal each group has its own commit, sixteen at a time', async () => {
    const { it, commits, state } = committing({ record: plain })
    expect(countGroupOutcomes(await commitEachGroup(it, numbered(40)))).toEqual({
      done: 40,
      left: 0,
      failed: 0,
    })
    expect(commits.map(({ names }) => names)).toEqual(numbered(40).map((_, index) => `${index}`))
    expect([state.most, state.now]).toEqual([16, 0])
  })

  test('with a journal groups share commits of twenty changes, fifteen commits a second', async () => {
    const { it, commits, state } = committing({ record: journaled })
    expect(countGroupOutcomes(await commitEachGroup(it, numbered(620)))).toEqual({
      done: 620,
      left: 0,
      failed: 0,
    })
    expect(commits.map(({ names }) => names.split(',').length)).toEqual(Array.from({ length: 31 }, () => 20))
    expect(state.most).toBe(1)
    const beginnings = commits.map(({ at }) => at)
    for (const at of beginnings)
      expect(beginnings.filter(other => other >= at && other < at + 999).length).toBeLessThanOrEqual(15)
  })

  test('groups of a conflicting or failed commit are committed one by one', async () => {
    for (const verdict of ['conflict', new Error('too much at once')] as const) {
      const { it, commits } = committing({
        record: journaled,
        verdict: names =>
          names.length > 1
            ? verdict
            : names[0] === '1'
              ? 'conflict'
              : names[0] === '2'
                ? new Error('2')
                : undefined,
      })
      const outcomes = await commitEachGroup(it, numbered(4))
      expect(outcomes).toEqual([
        { status: 'fulfilled', value: 'done' },
        { status: 'fulfilled', value: 'left' },
        { status: 'rejected', reason: new Error('2') },
        { status: 'fulfilled', value: 'done' },
      ])
      expect(commits.map(({ names }) => names)).toEqual(['0,1,2,3', '0', '1', '2', '3'])
    }
  })

  test.each([plain, journaled])(
    'groups are left uncommitted when no cluster record exists or no time is left: $0',
    async record => {
      expect(countGroupOutcomes(await commitEachGroup(committing({}).it, numbered(3)))).toEqual({
        done: 0,
        left: 3,
        failed: 0,
      })
      const { it, commits } = committing({ record, deadline: 0 })
      expect(countGroupOutcomes(await commitEachGroup(it, numbered(3)))).toEqual({
        done: 0,
        left: 3,
        failed: 0,
      })
      expect(commits).toEqual([])
    },
  )
})

describe('grouping changes into one commit', () => {
  test.each<[string, ChangeGroup[], number, number]>([
    ['takes as many groups as fit', [of('a', 'b'), of('c', 'd'), of('e')], 4, 2],
    ['takes all where all fit', [of('a', 'b'), of('c')], 4, 2],
    ['takes one at least', [of('a', 'b', 'c')], 2, 1],
    ['holds no item twice', [of('a', 'b'), of('b')], 20, 1],
  ])('%s', (_, groups, most, expected) => expect(countGroupsPerCommit(groups, most)).toBe(expected))
})
