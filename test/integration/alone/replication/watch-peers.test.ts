import { expect, test } from 'vitest'
import { alarmingTexts } from '../../../../shared/api/alarming.ts'
import { clusterSet } from '../../../support/set/set.ts'

test('a silent or lagging secondary is logged once a minute while that lasts', async () => {
  const set = await clusterSet(['east', 'west'])
  const [east, west] = [set.at('east'), set.at('west')]
  await set.enable('east')
  await set.join('west', 'east')
  await set.converge()
  /** Returns the lines that both clusters log in one minute. */
  const told = async () => {
    const before = [east.told.length, west.told.length]
    for (const one of [east, west]) await one.minute({ hashes: true })
    return [east, west].map((one, index) =>
      one.told
        .slice(before[index])
        .flatMap(({ message, fields }) =>
          message === alarmingTexts.peer ? (fields as { amiss: string[] }).amiss : [],
        ),
    )
  }
  expect(await told()).toEqual([[], []])
  set.cut('east', 'west')
  set.pass(70_000)
  for (let minutes = 0; minutes < 2; minutes++)
    expect(await told()).toEqual([
      [expect.stringMatching(/^the secondary west has sent no heartbeat for \d+ s$/)],
      [expect.stringMatching(/^the primary has not answered for \d+ s$/)],
    ])
  set.heal('east', 'west')
  await set.converge()
  expect(await told()).toEqual([[], []])
})
