import { beforeEach, describe, expect, test } from 'vitest'
import { followOn } from '../../../shared/replication/secondary/follow.ts'
import type { Follower } from '../../../shared/replication/secondary/follower.ts'
import { neighbours, policyAt, tokenAt } from '../../builders/journal.ts'
import {
  asPrimary,
  asWiped,
  claim,
  closeHead,
  commit,
  everythingOf,
  follower,
  linkTo,
  type Member,
  member,
} from '../../support/pair.ts'

const { a, b, apart } = neighbours
let east: Member
let west: Member

beforeEach(async () => {
  const clock = { ms: Date.now() }
  ;[east, west] = await Promise.all([member(clock), member(clock)])
  await asPrimary(east)
  await asWiped(west)
})

/** Goes on until there is nothing to do. */
async function caughtUp(one: Follower): Promise<void> {
  for (let steps = 0; ; steps++) {
    const progress = await followOn(one)
    if (progress !== 'worked') return
    if (steps > 200) throw new Error('it never comes to rest')
  }
}

async function isEqual(one = west, other = east): Promise<void> {
  const [mine, theirs] = await Promise.all([everythingOf(one), everythingOf(other)])
  expect(mine.items).toEqual(theirs.items)
  expect(mine.kept).toEqual(mine.right)
  expect(mine.kept).toEqual(theirs.kept)
}

const headOf = async (at: Member) => (await at.journal.head()) ?? expect.unreachable()

describe('a secondary', () => {
  test('fetches all, then follows: the same items, the same sums, at the same position', async () => {
    const soon = Math.floor(east.turn.ms / 1000) + 3600
    for (let n = 0; n < 30; n++) await commit(east, [policyAt(`p${n}`), 'v'], [tokenAt(`t${n}`), 'v', soon])
    const one = await follower(west, linkTo(east))
    await caughtUp(one)
    await isEqual()
    expect(await headOf(west)).toMatchObject({ mode: 'applying', seq: 30, done: 30, until: 0, dirty: null })
    await commit(east, [a, '1'], [b, '1'], [apart, '1'])
    await commit(east, [a, null], [apart, '2'])
    await commit(east, [policyAt('p3'), null])
    await caughtUp(one)
    await isEqual()
    expect(await headOf(west)).toMatchObject({ seq: 33, done: 33, epoch: (await headOf(east)).epoch })
  })

  test('rewinds what it has and the set has not, and the report names it', async () => {
    await commit(east, [a, '1'], [apart, '1'])
    const one = await follower(west, linkTo(east))
    await caughtUp(one)
    // east goes on alone; west is promoted, and goes on as well
    await commit(east, [a, '2'])
    await commit(east, [policyAt('lost'), '1'])
    await claim(west)
    await commit(west, [apart, '2'])
    await commit(west, [policyAt('kept'), '1'])
    await closeHead(east)
    const back = await follower(east, linkTo(west))
    await caughtUp(back)
    await isEqual(east, west)
    const head = await headOf(east)
    expect(head).toMatchObject({ mode: 'applying', seq: 3, done: 3, dirty: null, until: 0 })
  })
})
