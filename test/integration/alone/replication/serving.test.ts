import { expect, test } from 'vitest'
import { servingLogPatterns } from '../../../../infra/constructs/fronts/shared-name.ts'
import { fits } from '../../../support/service/filter-pattern.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { clusterSet } from '../../../support/set/set.ts'

// Tests the log lines by which an alarm sees whether a private cluster serves.

const MINUTE = 60_000

test('log lines show whether a cluster serves: every minute, and after each role change', async () => {
  const set = await clusterSet(['east', 'west'])
  await set.enable('east')
  await set.join('west', 'east')
  await set.converge()
  /** Returns the lowest value in each cluster's lines of a minute; undefined without a line. */
  const said = async (during: () => Promise<unknown>) => {
    const before = set.members.map(({ told }) => told.length)
    await during()
    return set.members.map(({ told }, index) => {
      const texts = told
        .slice(before[index])
        .map(({ message, fields }) => JSON.stringify({ message, ...(fields as object) }))
      const values = Object.entries(servingLogPatterns).flatMap(([value, pattern]) =>
        texts.some(text => fits(pattern, text)) ? [Number(value)] : [],
      )
      return values.length === 0 ? undefined : Math.min(...values)
    })
  }
  const minute = () => Promise.all(set.members.map(one => one.minute({ hashes: true })))
  set.pass(MINUTE)
  expect(await said(minute)).toEqual([1, 0])

  const { giveToken, promote } = promotions(set)
  await giveToken('west')
  set.cut('east', 'west')
  set.pass(2 * MINUTE)
  const forced = async () => {
    expect((await promote('west', { force: true })).status).toBe(200)
    await set.settled()
    await set.at('west').minute({ hashes: true })
  }
  // the old primary has logged nothing yet and counts as serving, so a shared DNS name does not decide
  // between the clusters
  expect(await said(forced)).toEqual([undefined, 1])
  set.pass(MINUTE)
  // a cluster without secondaries also logs that it serves
  expect(await said(minute)).toEqual([1, 1])

  set.heal('east', 'west')
  await set.tick()
  await set.settled()
  await set.tick()
  expect(await said(minute)).toEqual([0, 1])
})
