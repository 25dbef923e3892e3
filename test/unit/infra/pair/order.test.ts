import { describe, expect, test } from 'vitest'
import { classifyMember, decideDeployOrder, type MemberState } from '../../../../infra/pair/order.ts'
import type { ObservedCluster } from '../../../../shared/set/status.ts'
import { seenAs, silent } from '../../../builders/cluster-seen.ts'
import { east, inNoSet, promotion, starting, west } from '../../../builders/pair-seen.ts'

const order = (east: MemberState, west: MemberState, anyway = false) => {
  const decided = decideDeployOrder(
    [
      { name: 'east', standing: east },
      { name: 'west', standing: west },
    ],
    anyway,
  )
  return 'refused' in decided ? decided.refused : decided.order.map(({ name }) => name).join(' ')
}

describe('the deployment order of a pair', () => {
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
  ] as const)('clusters %s and %s are deployed in the order: %s', (east, west, expected) =>
    expect(order(east, west)).toBe(expected),
  )

  test.each([
    ['primary', 'primary', 'both clusters serve as primaries'],
    ['following', 'following', 'both clusters are secondaries'],
    ['primary', 'behind', 'west is a secondary that does not follow'],
    ['behind', 'primary', 'east is a secondary that does not follow'],
    ['unclear', 'following', 'east is changing its role or has a fault'],
    ['primary', 'unclear', 'west is changing its role or has a fault'],
    ['following', 'alone', 'follows a cluster that is not in this file'],
    ['blank', 'following', 'follows a cluster that is not in this file'],
    ['primary', 'absent', 'west does not answer'],
    ['absent', 'following', 'east does not answer'],
  ] as const)('clusters %s and %s are not deployed, because %s', (east, west, why) =>
    expect(order(east, west)).toContain(why),
  )

  test.each([
    ['primary', 'absent', 'west east'],
    ['absent', 'primary', 'east west'],
    ['following', 'absent', 'east west'],
    ['absent', 'following', 'west east'],
  ] as const)('with --anyway, clusters %s and %s are deployed in the order: %s', (east, west, expected) =>
    expect(order(east, west, true)).toBe(expected),
  )

  test.each([
    ['primary', 'primary'],
    ['primary', 'behind'],
    ['unclear', 'absent'],
    ['following', 'following'],
  ] as const)('clusters %s and %s are not deployed even with --anyway', (east, west) =>
    expect(order(east, west, true)).toBe(order(east, west)),
  )
})

describe('the state of a member, from its answers', () => {
  test.each<[string, Promise<ObservedCluster>, MemberState]>([
    ['no answer', inNoSet('west').then(one => silent(one)), 'absent'],
    ['health 501', seenAs('west', { mode: 'disabled' }, 501), 'blank'],
    ['health 200, of no set', inNoSet('west'), 'alone'],
    ['health 200, a primary', east(), 'primary'],
    ['health 200 of a mode that is unknown', seenAs('west', { mode: 'tertiary' }), 'unclear'],
    ['health 472, streaming', west(), 'following'],
    ['health 472, idle', west({ state: 'idle' }), 'behind'],
    ['a change of roles', west({ operation: promotion }), 'unclear'],
    ['an activation', starting('west'), 'unclear'],
    ['health 503', east({}, 503), 'unclear'],
    ['no status', seenAs('west', []), 'unclear'],
  ])('%s: %s', async (_, seen, expected) => expect(classifyMember(await seen)).toBe(expected))
})
