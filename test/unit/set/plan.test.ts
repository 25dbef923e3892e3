import { describe, expect, test } from 'vitest'
import { decideNextStep, type SetAction, type SetGoal, WAIT_LIMITS_MS } from '../../../shared/set/plan.ts'
import {
  changing,
  east,
  eastBehind,
  eastClosed,
  gone,
  inNoSet,
  promotion,
  type Seen,
  starting,
  west,
  westClosed,
  westPromoted,
} from '../../builders/pair-seen.ts'

/** Returns the next step with east as `from` and west as `to`. */
const next = async (kind: SetGoal['kind'], from: Seen, to: Seen, rules: Partial<SetGoal> = {}) =>
  decideNextStep(
    { from: await from, to: await to },
    { kind, allowedActions: ACTIONS, waits: WAIT_LIMITS_MS, ...rules },
  )

const ACTIONS: readonly SetAction[] = ['enable', 'admit', 'promote', 'force', 'follow', 'readmit']
type Vector = readonly [what: string, from: Seen, to: Seen, expected: object]
const westFollows = { primary: 'from', secondary: 'to' }
const eastFollows = { primary: 'to', secondary: 'from' }
const stopped = (exit = 'refused') => ({ do: 'stop', exit })
const waiting = (reason: string, otherwise = 'stop') => ({
  do: 'wait',
  for: reason,
  otherwise: { do: otherwise },
})

const switches: readonly Vector[] = [
  ['no step has been done', east(), west(), { do: 'promote', to: 'to', force: false, resumed: false }],
  ['the promotion runs', east(), west({ operation: promotion }), { do: 'promote', resumed: true }],
  [
    'the promotion runs, and the primary has closed',
    eastClosed(),
    west({ operation: promotion }),
    { resumed: true },
  ],
  [
    'the primary has handed over, and no cluster has taken over',
    eastClosed(),
    west(),
    { do: 'promote', resumed: true, stage: 'promote' },
  ],
  [
    'the secondary has taken over',
    eastClosed(),
    westPromoted(),
    { do: 'follow', ...eastFollows, stage: 'follow' },
  ],
  [
    'the last step of the promotion runs',
    eastClosed(),
    westPromoted({ operation: promotion }),
    { do: 'follow' },
  ],
  [
    'the new primary opens its journal',
    eastClosed(),
    westPromoted({ state: 'idle' }, 503),
    waiting('journal'),
  ],
  [
    'the former primary runs update-primary',
    eastClosed({ operation: changing('update-primary') }),
    westPromoted(),
    { ...waiting('catching-up'), stage: 'settle' },
  ],
  [
    'the former primary catches up',
    eastBehind({ state: 'merkle-diff' }),
    westPromoted(),
    waiting('catching-up'),
  ],
  [
    'the former primary connects',
    eastBehind({ connection_state: 'connecting' }),
    westPromoted(),
    waiting('catching-up'),
  ],
  ['the former primary follows', eastBehind(), westPromoted(), { do: 'done', stage: 'settle' }],
  [
    'the former primary does not know of the promotion',
    east(),
    westPromoted(),
    { ...waiting('closing'), stage: 'follow' },
  ],
  ['the former primary was promoted later', east({ ssct_generation_counter: 3 }), westPromoted(), stopped()],
  ['both clusters took over', east({ ssct_generation_counter: 2 }), westPromoted(), stopped()],
  ['the former primary left the set', inNoSet('east'), west(), stopped()],
  ['the clusters are in two sets', east(), west({ cluster_id: 'other' }), stopped()],
  ['the clusters are in no set', inNoSet('east'), inNoSet('west'), stopped()],
  ['the secondary syncs', east(), west({ state: 'merkle-sync' }), stopped()],
  ['the secondary was revoked', east({ known_secondaries: [] }), west({ state: 'idle' }), stopped()],
  ['the former primary was revoked', eastBehind(), westPromoted({ known_secondaries: [] }), stopped()],
  ['another operation runs on the secondary', east(), west({ operation: changing('reindex') }), stopped()],
  ['an operation runs on the primary', east({ operation: changing('demotion') }), west(), stopped()],
  ['a third cluster is the primary', eastBehind(), west(), stopped()],
  ['no cluster follows another cluster', eastClosed(), westClosed(), stopped()],
  ['the secondary is emptied', east(), starting('west'), stopped()],
  ['the primary is silent', gone(east()), west(), waiting('silence')],
  ['the secondary is silent', east(), gone(west()), waiting('silence')],
  ['the former primary is silent', gone(eastBehind()), westPromoted(), waiting('silence')],
]

describe('the next step of a switch', () => {
  test.each(switches)('the next step of a switch is chosen where %s', async (_, from, to, expected) =>
    expect(await next('switch', from, to)).toMatchObject(expected),
  )

  test('the next step of a switch back is the same with swapped sides', async () => {
    const turned = (text: string) =>
      text.replace(/:"(from|to)"/g, (_, side) => (side === 'to' ? ':"from"' : ':"to"'))
    for (const [, from, to] of switches) {
      const { where: _, ...there } = await next('switch', from, to)
      const { where: __, ...back } = decideNextStep(
        { from: await to, to: await from },
        { kind: 'switchBack', allowedActions: ACTIONS, waits: WAIT_LIMITS_MS },
      )
      const { do: action } = there
      if (action === 'promote' || action === 'follow')
        expect(JSON.stringify(back)).toBe(turned(JSON.stringify(there)))
      else expect(back).toMatchObject({ do: action })
    }
  })

  test('the next step names the disaster runbook if the primary is silent and its successor does not serve', async () => {
    const why = { otherwise: { why: expect.stringContaining('disaster.md') } }
    expect(await next('switch', gone(east()), west())).toMatchObject(why)
    expect(await next('switch', gone(east()), westPromoted())).not.toMatchObject(why)
  })

  test('the next step has a sentence for each state of the pair', async () => {
    for (const [, from, to] of switches)
      expect((await next('switch', from, to)).where).toMatch(/^[A-Zew].*\.$/)
  })
})

describe('the next step of a takeover', () => {
  test.each<Vector>([
    ['the primary is silent', gone(east()), west(), { do: 'promote', force: true, resumed: false }],
    ['the primary does not serve', east({}, 503), west(), { do: 'promote', force: true }],
    ['the primary handed over and is gone', gone(eastClosed()), west(), { do: 'promote', force: true }],
    ['the promotion runs', gone(east()), west({ operation: promotion }), { do: 'promote', resumed: true }],
    ['the primary answers and serves', east(), west({ state: 'idle' }), stopped()],
    ['the secondary is silent', east(), gone(west()), waiting('silence')],
    [
      'the secondary has taken over, and the former primary is silent',
      gone(east()),
      westPromoted(),
      waiting('closing'),
    ],
    ['the former primary answers again', east(), westPromoted(), waiting('closing')],
    ['the former primary has closed', eastClosed(), westPromoted(), { do: 'follow', ...eastFollows }],
    ['the former primary follows', eastBehind(), westPromoted(), { do: 'done' }],
    ['the other cluster is no secondary', gone(east()), inNoSet('west'), stopped()],
  ])('the next step of a takeover is chosen if %s', async (_, from, to, expected) =>
    expect(await next('takeOver', from, to)).toMatchObject(expected),
  )
})

describe('the next step of a join', () => {
  const building = { reindex_in_progress: true, reindex_stage: 'building' }
  test.each<Vector>([
    ['neither cluster is in a DR set', inNoSet('east'), inNoSet('west'), { do: 'enable', primary: 'from' }],
    ['the joining cluster is in no set', east(), inNoSet('west'), { do: 'admit', ...westFollows }],
    [
      'the first cluster was deployed again',
      inNoSet('east'),
      westPromoted(),
      { do: 'admit', ...eastFollows },
    ],
    ['one cluster follows the other cluster', east(), west(), { do: 'done' }],
    ['the clusters have switched', eastBehind(), westPromoted(), { do: 'done' }],
    ['the former primary has closed', eastClosed(), westPromoted(), { do: 'follow', ...eastFollows }],
    ['a journal is built', east(building), inNoSet('west'), waiting('journal')],
    ['a journal is opened', east({ state: 'idle' }), west(), waiting('journal')],
    ['an activation was broken off', east(), starting('west'), waiting('activation')],
    ['both clusters are primaries', east(), westPromoted(), waiting('closing')],
    [
      'both clusters were promoted equally often',
      east(),
      westPromoted({ ssct_generation_counter: 1 }),
      stopped(),
    ],
    ['the clusters are in two sets', east(), west({ cluster_id: 'other' }), stopped()],
    [
      'a secondary has not reached its primary yet',
      east(),
      west({ connection_state: 'connecting' }),
      waiting('contact', 'readmit'),
    ],
    ['a secondary syncs', east(), west({ state: 'merkle-sync' }), waiting('catching-up')],
    ['a promotion was broken off', eastClosed(), west(), waiting('operation')],
    ['the primary is a third cluster', inNoSet('east'), west(), waiting('operation')],
    ['a cluster is silent', gone(east()), west(), waiting('silence')],
  ])('the next step of a join is chosen if %s', async (_, from, to, expected) => {
    expect(await next('join', from, to)).toMatchObject(expected)
    expect(await next('follow', from, to)).toMatchObject(expected)
  })

  test('the join keeps the named primary', async () => {
    expect(await next('join', inNoSet('east'), inNoSet('west'), { primary: 'to' })).toMatchObject({
      do: 'enable',
      primary: 'to',
    })
    expect(await next('join', east(), inNoSet('west'), { primary: 'to' })).toMatchObject({
      ...stopped(),
      why: 'east is the primary, and would have to be in no set',
    })
  })
})

test.each<[SetAction, SetGoal['kind'], Seen, Seen]>([
  ['promote', 'switch', east(), west()],
  ['force', 'takeOver', gone(east()), west()],
  ['follow', 'switch', eastClosed(), westPromoted()],
  ['enable', 'join', inNoSet('east'), inNoSet('west')],
  ['admit', 'join', east(), inNoSet('west')],
])('a goal that may not %s leaves the action to an operator', async (action, kind, from, to) => {
  const may = ACTIONS.filter(one => one !== action)
  expect(await next(kind, from, to, { allowedActions: may })).toMatchObject({
    do: 'stop',
    why: expect.stringContaining('operator'),
  })
})

test('a step after a wait is also left to the operator if it is not allowed', async () => {
  const step = await next('join', east(), west({ connection_state: 'connecting' }), {
    allowedActions: ['follow'],
  })
  expect(step).toMatchObject(waiting('contact', 'stop'))
})
