import { describe, expect, test } from 'vitest'
import {
  decideNextStep,
  type PairSide,
  type SetAction,
  type SetGoal,
  WAIT_LIMITS_MS,
} from '../../../shared/set/plan.ts'
import { runUntilGoal, type SetCluster, type SetRunInput, takeSetStep } from '../../../shared/set/run.ts'
import type { ObservedCluster } from '../../../shared/set/status.ts'
import { seenAs, silent } from '../../builders/cluster-seen.ts'
import { closedFormerPrimary, followerOf, primaryOf } from '../../builders/pair-seen.ts'

// Two clusters that change their roles when requested. The test kills the program before and after each
// request takes effect, and starts it again.

const READY = {
  checks: [],
  lag: { primary: 'answers' },
  license: { seconds_left: 1_000_000 },
  operation_token: { presented: { counts: true, why: '' } },
}
const ACTIONS: readonly SetAction[] = ['enable', 'admit', 'promote', 'force', 'follow', 'readmit']

class Killed extends Error {}

/** The state of both clusters. */
interface World {
  from: object | undefined
  to: object | undefined
  promotions: number
}

const statusOf = (status: object, promotions: number) => ({ ...status, ssct_generation_counter: promotions })
const otherOf = (side: PairSide): PairSide => (side === 'from' ? 'to' : 'from')

/** Returns the state of both clusters after a request. */
function applied(world: World, side: PairSide, path: string): World {
  const other = otherOf(side)
  const promotions = world.promotions + 1
  if (path === 'primary/enable') return { ...world, [side]: primaryOf(other) }
  if (path === 'secondary/enable' || path === 'secondary/update-primary')
    return { ...world, [side]: followerOf(other, side), [other]: primaryOf(side) }
  if (path !== 'secondary/promote') return world
  const left = world[other] && { [other]: closedFormerPrimary }
  return { ...world, ...left, [side]: primaryOf(other), promotions }
}

type Ask = (side: PairSide, path: string) => ReturnType<SetCluster['write']>

interface Played {
  asked: string[]
  world: World
  now: number
}

/**
 * Runs a program. @param killAt number of the request at which the program is killed, starting at 1;
 * `behind`: after the request took effect
 */
function programOf(
  played: Played,
  goal: SetGoal,
  killAt = 0,
  behind = false,
  { asked: changedAsk, ...more }: Partial<SetRunInput> & { asked?: (ask: Ask) => Ask } = {},
): SetRunInput {
  let requests = 0
  let isKilled = false
  const kill = (): never => {
    isKilled = true
    throw new Killed()
  }
  const seen = async (side: PairSide): Promise<ObservedCluster> => {
    if (isKilled) kill()
    const status = played.world[side]
    return status ? seenAs(side, statusOf(status, played.world.promotions)) : silent({ name: side })
  }
  const asWorld: Ask = async (side, path) => {
    requests += 1
    if (requests === killAt && !behind) kill()
    played.asked.push(`${side} ${path}`)
    played.world = applied(played.world, side, path)
    if (requests === killAt) kill()
    if (path.endsWith('readiness')) return { data: READY }
    return { data: { token: 't', secondary_public_key: 'k' }, wrap_info: { token: 't' } }
  }
  const ask = changedAsk?.(asWorld) ?? asWorld
  const clusterOf = (side: PairSide): SetCluster => ({
    observe: () => seen(side),
    write: path => ask(side, path),
  })
  return {
    goal,
    clock: {
      now: () => played.now,
      sleep: async ms => {
        played.now += ms
      },
    },
    clusters: { from: clusterOf('from'), to: clusterOf('to') },
    operationToken: async () => 'token',
    ...more,
  }
}

const goalOf = (kind: SetGoal['kind'], rules: Partial<SetGoal> = {}): SetGoal => ({
  kind,
  allowedActions: ACTIONS,
  waits: WAIT_LIMITS_MS,
  ...rules,
})
const began = (from: object | undefined, to: object | undefined): Played => ({
  asked: [],
  now: 0,
  world: { from, to, promotions: 1 },
})
const [primary, follower, inNoSet] = [primaryOf('to'), followerOf('from', 'to'), { mode: 'disabled' }]

const journeys: readonly (readonly [SetGoal['kind'], object | undefined, object | undefined, string[]])[] = [
  [
    'switch',
    primary,
    follower,
    [
      'to secondary/readiness',
      'to secondary/promote',
      'from secondary/generate-public-key',
      'to primary/secondary-token',
      'from secondary/update-primary',
    ],
  ],
  [
    'switchBack',
    followerOf('to', 'from'),
    primaryOf('from'),
    [
      'from secondary/readiness',
      'from secondary/promote',
      'to secondary/generate-public-key',
      'from primary/secondary-token',
      'to secondary/update-primary',
    ],
  ],
  ['join', inNoSet, inNoSet, ['from primary/enable', 'from primary/secondary-token', 'to secondary/enable']],
  [
    'follow',
    closedFormerPrimary,
    primaryOf('from'),
    ['from secondary/generate-public-key', 'to primary/secondary-token', 'from secondary/update-primary'],
  ],
]

describe.each(journeys)('a run to the goal %s', (kind, from, to, requests) => {
  test('the run sends each request once, and no request when it is started again', async () => {
    const played = began(from, to)
    await runUntilGoal(programOf(played, goalOf(kind)))
    expect(played.asked).toEqual(requests)
    await runUntilGoal(programOf(played, goalOf(kind)))
    expect(played.asked).toEqual(requests)
  })

  test.each(
    requests.flatMap((request, index) => [
      [`before ${request}`, index + 1, false] as const,
      [`behind ${request}`, index + 1, true] as const,
    ]),
  )('a run that is killed %s resumes from the state of the pair', async (_, killAt, behind) => {
    const played = began(from, to)
    await expect(runUntilGoal(programOf(played, goalOf(kind), killAt, behind))).rejects.toThrow(Killed)
    await runUntilGoal(programOf(played, goalOf(kind)))
    const count = (path: string) => played.asked.filter(one => one.endsWith(path)).length
    for (const changing of ['secondary/promote', 'secondary/update-primary', 'secondary/enable'])
      expect(count(changing)).toBeLessThanOrEqual(1)
    const { clusters } = programOf(played, goalOf(kind))
    const pair = { from: await clusters.from.observe(), to: await clusters.to.observe() }
    expect(decideNextStep(pair, goalOf(kind)).do).toBe('done')
  })
})

describe('a run to the goal takeOver', () => {
  test('the run promotes by force, waits for the other cluster, and makes that cluster follow', async () => {
    const played = began(undefined, follower)
    await runUntilGoal(programOf(played, goalOf('takeOver')), 'promote')
    expect(played.asked).toEqual(['to secondary/promote'])
    const rest = runUntilGoal(
      programOf(played, goalOf('takeOver'), 0, false, {
        clock: {
          now: () => played.now,
          sleep: async ms => {
            played.now += ms
            if (played.now > 60_000) played.world = { ...played.world, from: closedFormerPrimary }
          },
        },
      }),
    )
    await rest
    expect(played.asked.at(-1)).toBe('from secondary/update-primary')
    expect(played.now).toBeGreaterThan(60_000)
  })
})

describe('waits of a run', () => {
  const waiting = goalOf('switch')
  const syncing = began({ ...followerOf('to', 'from'), state: 'merkle-diff' }, primaryOf('from'))

  test('a wait ends after the goal’s limit, with the state of the pair', async () => {
    const played = { ...syncing }
    await expect(runUntilGoal(programOf(played, waiting))).rejects.toMatchObject({
      exit: 'unwell',
      message: expect.stringContaining('merkle-diff'),
    })
    expect(played.now).toBe(WAIT_LIMITS_MS['catching-up'])
  })

  test('waits are counted from the first observation, across calls that keep the state', async () => {
    const played = { ...syncing, now: 1000 }
    const program = programOf(played, waiting)
    const first = await takeSetStep(program, { begun: false }, 'settle')
    expect(first).toMatchObject({ kind: 'again', state: { begun: true, waiting: { since: 1000 } } })
    played.now += WAIT_LIMITS_MS['catching-up']
    const { state } = first as { state: { begun: boolean } }
    await expect(takeSetStep(program, state, 'settle')).rejects.toMatchObject({ exit: 'unwell' })
  })

  test('no wait begins if a cluster is silent at the start; a cluster that falls silent later gets half a minute', async () => {
    const played = began(undefined, follower)
    await expect(runUntilGoal(programOf(played, waiting))).rejects.toMatchObject({ exit: 'unreachable' })
    expect(played.now).toBe(0)
    const begun = { begun: true }
    const round = await takeSetStep(programOf(played, waiting), begun, 'settle')
    expect(round).toMatchObject({ kind: 'again', state: { waiting: { since: 0 } } })
  })

  test('a wait ends after half a minute of failing readiness checks, without a promotion', async () => {
    const played = began(primary, follower)
    const asked = (): Ask => async () => ({ data: { ...READY, lag: { primary: 'silent' } } })
    await expect(runUntilGoal(programOf(played, waiting, 0, false, { asked }))).rejects.toMatchObject({
      exit: 'refused',
      message: expect.stringContaining('has no contact to its primary'),
    })
    expect(played.now).toBe(WAIT_LIMITS_MS.obstacle)
  })
})

test.each([
  ['secondary/enable', 'join' as const, inNoSet, inNoSet],
  ['secondary/promote', 'switch' as const, primary, follower],
])(
  'a repeated %s that is refused after the first one took effect does not end the run',
  async (path, kind, from, to) => {
    const played = began(from, to)
    const asked =
      (ask: Ask): Ask =>
      async (side, one) => {
        const answer = await ask(side, one)
        if (one === path) throw new Error('400 it is that already')
        return answer
      }
    await runUntilGoal(programOf(played, goalOf(kind), 0, false, { asked }))
    expect(played.asked.filter(one => one.endsWith(path))).toHaveLength(1)
  },
)

test('a refused request that changed nothing ends the run', async () => {
  const refused = programOf(began(inNoSet, inNoSet), goalOf('join'), 0, false, {
    asked: () => () => Promise.reject(new Error('403 permission denied')),
  })
  await expect(runUntilGoal(refused)).rejects.toThrow('403 permission denied')
})

test.each([
  ['first, where it differs', 'https://new', ['from primary/enable']],
  ['not, where it is the same', 'https://old', []],
])('the address of a primary is updated %s', async (_, address, first) => {
  const moved = began({ ...primary, primary_cluster_addr: 'https://old' }, inNoSet)
  const program = programOf(moved, goalOf('join'))
  const { from, to } = program.clusters
  await runUntilGoal({ ...program, clusters: { from: { ...from, address }, to } })
  expect(moved.asked).toEqual([...first, 'from primary/secondary-token', 'to secondary/enable'])
})

test('a step that another program did meanwhile is not repeated', async () => {
  const played = began(closedFormerPrimary, primaryOf('from'))
  const before = async () => {
    played.world = { ...played.world, from: followerOf('to', 'from') }
  }
  await runUntilGoal(programOf(played, goalOf('switch'), 0, false, { beforeStep: before }))
  expect(played.asked).toEqual([])
})
