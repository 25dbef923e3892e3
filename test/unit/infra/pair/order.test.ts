import { describe, expect, test } from 'vitest'
import { type MemberStanding, memberStandingOf, orderOf } from '../../../../infra/pair/order.ts'

const order = (east: MemberStanding, west: MemberStanding, anyway = false) => {
  const decided = orderOf(
    [
      { name: 'east', standing: east },
      { name: 'west', standing: west },
    ],
    anyway,
  )
  return 'refused' in decided ? decided.refused : decided.order.join(' ')
}

describe('the order in which a pair is deployed', () => {
  test.each([
    ['absent', 'absent', 'east west'],
    ['absent', 'blank', 'east west'],
    ['blank', 'blank', 'east west'],
    ['alone', 'blank', 'east west'],
    ['alone', 'alone', 'east west'],
    ['primary', 'following', 'west east'],
    ['following', 'primary', 'east west'],
    ['primary', 'blank', 'west east'],
    ['primary', 'alone', 'west east'],
    ['blank', 'primary', 'east west'],
  ] as const)('%s and %s: %s', (east, west, expected) => expect(order(east, west)).toBe(expected))

  test.each([
    ['primary', 'primary', 'both serve as primaries'],
    ['following', 'following', 'both are secondaries'],
    ['primary', 'behind', 'west is a secondary that does not follow'],
    ['behind', 'primary', 'east is a secondary that does not follow'],
    ['unclear', 'following', 'east answers as no cluster at rest does'],
    ['primary', 'unclear', 'west answers as no cluster at rest does'],
    ['following', 'alone', 'follows a cluster that is not in this file'],
    ['blank', 'following', 'follows a cluster that is not in this file'],
    ['primary', 'absent', 'west does not answer'],
    ['absent', 'following', 'east does not answer'],
  ] as const)('%s and %s: nothing, for %s', (east, west, why) => expect(order(east, west)).toContain(why))

  test.each([
    ['primary', 'absent', 'west east'],
    ['absent', 'primary', 'east west'],
    ['following', 'absent', 'east west'],
    ['absent', 'following', 'west east'],
  ] as const)('with --anyway %s and %s: %s', (east, west, expected) =>
    expect(order(east, west, true)).toBe(expected),
  )

  test.each([
    ['primary', 'primary'],
    ['primary', 'behind'],
    ['unclear', 'absent'],
    ['following', 'following'],
  ] as const)('--anyway does not help %s and %s', (east, west) =>
    expect(order(east, west, true)).toBe(order(east, west)),
  )
})

describe('what a cluster is, by its answers', () => {
  test.each([
    [undefined, undefined, 'absent'],
    [{ status: 501, mode: 'disabled' }, undefined, 'blank'],
    [{ status: 200, mode: 'disabled' }, undefined, 'alone'],
    [{ status: 200, mode: 'primary' }, undefined, 'primary'],
    [{ status: 200 }, undefined, 'unclear'],
    [{ status: 472, mode: 'secondary' }, 'stream-wals', 'following'],
    [{ status: 472, mode: 'secondary' }, 'idle', 'behind'],
    [{ status: 503, mode: 'bootstrapping' }, undefined, 'unclear'],
    [{ status: 403 }, undefined, 'unclear'],
  ] as const)('%j with state %s: %s', (health, state, expected) =>
    expect(memberStandingOf(health, state)).toBe(expected),
  )
})
