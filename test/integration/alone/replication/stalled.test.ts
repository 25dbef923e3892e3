import { beforeAll, expect, test } from 'vitest'
import { invariants } from '../../../support/set/checks/all.ts'
import { violationsIn } from '../../../support/set/history.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import type { Stall } from '../../../support/set/transport.ts'

// The coordinator of a transaction stalls: for seconds its items are locked, and its result is unknown.

const STALLED_MS = 6000
const R = '/sys/replication/dr'
let from: Warm

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

const rows: readonly [name: string, takesEffect: Stall['takesEffect']][] = [
  ['and never takes effect', 'never'],
  ['and takes effect afterwards', 'last'],
  ['after it took effect, and whose answer is lost', 'first'],
]

/** Repeats a write until it is acknowledged or its client gives up. */
async function writes(set: ClusterSet, name: string, text: string, tries = 1): Promise<boolean> {
  const body = { policy: `path "${text}" {}` }
  for (let n = 0; n < tries; n++) {
    const { status } = await set.at('east').request('POST', `/sys/policies/acl/${name}`, body)
    if (status === 204) return true
    // 503: the client retries. 400 or 472: another cluster serves now.
    if (status !== 503) return false
    await set.clock.sleep(1000)
  }
  return false
}

/** Returns a policy as a cluster serves it, or undefined if the policy does not exist. */
const textOf = async (set: ClusterSet, at: string, name: string): Promise<string> =>
  (await set.at(at).request('GET', `/sys/policies/acl/${name}`)).body?.data?.policy ?? ''

/**
 * Checks all invariants after every write, and that at rest both clusters have the same items and right sums.
 */
async function isSound(set: ClusterSet): Promise<void> {
  await set.converge()
  for (const name of ['east', 'west']) {
    const { kept, right } = await set.everything(name)
    expect(kept).toEqual(right)
    const { lineage, last, applied } = await set.at(name).head()
    expect(applied).toBe(last)
    const entries = await set.at(name).ports.journal.entries(lineage, 0, last)
    expect(entries.indexOf(undefined)).toBe(-1)
  }
  expect(await set.everything('west')).toEqual(await set.everything('east'))
  expect(violationsIn(set.recording.history, invariants)).toEqual([])
}

test.each(rows)(
  'a commit that stalls for six seconds %s: its position waits, other commits continue, and no acknowledged commit is lost',
  async (_, takesEffect) => {
    const set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
    const { last: before } = await set.at('east').head()
    const over = set.stall('east', { ms: STALLED_MS, takesEffect })
    const stalled = writes(set, 'p0', 'stalled', 20)
    await set.clock.sleep(200)
    const after = writes(set, 'p0', 'after', 20)
    // other commits are acknowledged at once; secondaries wait for the earlier position
    expect(await writes(set, 'apart', 'apart', 5)).toBe(true)
    expect(await set.at('east').head()).not.toMatchObject({ last: before })
    await set.at('east').minute()
    const { applied, last } = await set.at('east').head()
    expect(applied).toBe(takesEffect === 'first' ? last : before)
    await over
    expect([await stalled, await after]).toEqual([true, true])
    await set.clock.sleep(1000)
    await isSound(set)
    for (const name of ['p0', 'apart'])
      expect(await textOf(set, 'east', name)).toMatch(/"(stalled|after|apart)"/)
  },
)

test.each(rows)(
  'a commit that stalls for six seconds %s during a role change is decided before the epoch ends',
  async (_, takesEffect) => {
    const set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
    const over = set.stall('east', { ms: STALLED_MS, takesEffect })
    const stalled = writes(set, 'p0', 'stalled')
    await set.clock.sleep(100)
    const promoted = set
      .at('west')
      .request('POST', `${R}/secondary/promote`, { dr_operation_token: from.operator })
    await over
    const [acknowledged] = await Promise.all([stalled, promoted])
    await set.settled()
    expect((await promoted).status, (await promoted).text).toBe(200)
    const there = (await textOf(set, 'west', 'p0')).includes('stalled')
    if (acknowledged) expect(there).toBe(true)
    if (takesEffect === 'never') expect(there).toBe(false)
    if (takesEffect === 'first') expect(there).toBe(true)
    expect(violationsIn(set.recording.history, invariants)).toEqual([])
  },
)
