import { beforeEach, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

const DR = '/sys/replication/dr'
const MINUTE = 60_000

let set: ClusterSet
beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  await set.enable('east')
  await set.join('west', 'east')
  await set.converge()
  await scheduled()
})

/** Starts the puller's run of every minute, and waits for its first heartbeat. */
const scheduled = () => set.at('west').pull(700, { source: 'aws.events' })

const shown = async () => (await set.at('west').ok('GET', `${DR}/status`)).body.data.readiness

/** Returns the time of the primary's last answer. */
async function contactAt(): Promise<number | undefined> {
  const [contact] = await set.at('west').ports.store.read([key('contact')])
  return contact?.data.at
}

const READY = { ready: true, refused_by: [], tried: expect.any(String) }
const SILENT = { ready: false, refused_by: ['silent'], tried: expect.any(String) }

describe('readiness in the status of a secondary', () => {
  test('is determined again by the next run of the puller when the primary falls silent, and when the primary answers again', async () => {
    expect(await shown()).toEqual(READY)
    set.pass(10_000)
    set.cut('east', 'west')
    await scheduled()
    expect(await shown()).toEqual(SILENT)
    set.pass(10_000)
    set.heal('east', 'west')
    await scheduled()
    expect(await shown()).toEqual(READY)
  })

  test('is determined again within one run of the puller, after an unanswered heartbeat', async () => {
    const before = await contactAt()
    set.pass(1000)
    const run = set.at('west').pull(25_000, { source: 'aws.events' })
    while ((await contactAt()) === before);
    set.cut('east', 'west')
    await run
    expect(await shown()).toEqual(SILENT)
  })

  test('is hidden after a change of contact or role', async () => {
    expect(await shown()).toEqual(READY)
    set.cut('east', 'west')
    // a run that a notice started stores the silence, but does not check readiness
    set.pass(10_000)
    await set.at('west').pull()
    expect(await shown()).toBeUndefined()
    await scheduled()
    expect(await shown()).toEqual(SILENT)
    set.heal('east', 'west')
    await set.at('west').pull()
    expect(await shown()).toBeUndefined()
  })

  test('is hidden when no run of the puller calls the primary any more', async () => {
    set.pass(MINUTE)
    expect(await shown()).toBeUndefined()
    await scheduled()
    expect(await shown()).toEqual(READY)
  })

  test('stays valid for ten minutes without a change', async () => {
    const { tried } = await shown()
    set.pass(5 * MINUTE)
    await scheduled()
    expect(await shown()).toMatchObject({ tried })
    set.pass(5 * MINUTE)
    await scheduled()
    expect((await shown()).tried).not.toBe(tried)
  })
})
