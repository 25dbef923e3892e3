import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AgentState,
  afterFailure,
  afterLogin,
  afterLook,
  afterPause,
  afterRefusal,
  afterRenewal,
  afterVerification,
  decideAgentStep,
  initialAgentState,
  type KeptToken,
} from '../../../../infra/command/agent/decide.ts'

const [EAST, WEST] = ['https://east/v1', 'https://west/v1']
const NOW = 1_000_000
const kept: KeptToken = { cluster: EAST, lease: 60, due: NOW + 1000, late: NOW + 9000, mayRenew: true }
const state: AgentState = { ...initialAgentState, active: EAST, hasLooked: true, lookAt: NOW + 500, kept }
const { kept: _, ...withoutToken } = state

describe('the next step of the agent', () => {
  test.each<[string, AgentState, ReturnType<typeof decideAgentStep>]>([
    ['looks first of all', initialAgentState, { do: 'look' }],
    ['logs in without a token', withoutToken, { do: 'login' }],
    ['looks before a login', { ...withoutToken, hasLooked: false }, { do: 'look' }],
    ['waits for the next look', state, { do: 'wait', until: NOW + 500 }],
    ['waits for the renewal', { ...state, lookAt: NOW + 5000 }, { do: 'wait', until: NOW + 1000 }],
    ['looks when a look is due', { ...state, hasLooked: false, lookAt: NOW }, { do: 'look' }],
    ['renews when due', { ...state, kept: { ...kept, due: NOW } }, { do: 'renew' }],
    ['looks before a renewal', { ...state, hasLooked: false, kept: { ...kept, due: NOW } }, { do: 'look' }],
    [
      'logs in when it may not renew',
      { ...state, kept: { ...kept, due: NOW, mayRenew: false } },
      { do: 'login' },
    ],
    [
      'logs in when no renewal came in time',
      { ...state, kept: { ...kept, due: 0, late: NOW } },
      { do: 'login' },
    ],
    ['verifies the token on another cluster', { ...state, active: WEST }, { do: 'verify' }],
    [
      'renews on the other cluster without a verification',
      { ...state, active: WEST, kept: { ...kept, due: NOW } },
      { do: 'renew' },
    ],
    ['waits after a failure', { ...withoutToken, retryAt: NOW + 1 }, { do: 'wait', until: NOW + 1 }],
  ])('%s', (_, at, step) => expect(decideAgentStep(at, NOW)).toEqual(step))
})

describe('the state of the agent', () => {
  const granted = { cluster: EAST, lease: 90, renewable: true }

  test('a login is renewed at two thirds of its lifetime, and chance makes the renewal up to a tenth earlier', () => {
    const dues = [0, 1].map(chance => afterLogin(state, granted, NOW, chance).kept?.due)
    expect(dues).toEqual([NOW + 60_000, NOW + 54_000])
  })

  test('a tiny lifetime does not make the agent ask in a loop', () =>
    expect(afterLogin(state, { ...granted, lease: 1e-9 }, NOW, 0).kept).toMatchObject({
      due: NOW + 500,
      late: NOW + 500,
    }))

  test('a token that does not end is never renewed', () => {
    const { kept: endless } = afterLogin(state, { ...granted, lease: 0 }, NOW, 0)
    expect([endless?.due, endless?.late]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
  })

  test.each([
    ['the whole lifetime', { lease: 60 }, true],
    ['a second less, which rounding may take', { lease: 59 }, true],
    ['less, because the maximum is near', { lease: 40 }, false],
    ['a token that cannot be renewed again', { lease: 60, renewable: false }, false],
  ])('a renewal that gives %s allows another renewal: %s', (_, more, mayRenew) => {
    const after = afterRenewal(state, kept, { ...granted, ...more }, NOW, 0)
    expect(after.kept).toMatchObject({ mayRenew, lease: 60, due: NOW + (more.lease * 2000) / 3 })
  })

  test('after a refusal a login follows at once, and the old token stays', () => {
    const after = afterRefusal(state, kept, NOW)
    expect(after.kept).toEqual({ ...kept, due: NOW, mayRenew: false })
    expect(decideAgentStep(after, NOW)).toEqual({ do: 'login' })
  })

  test('after a verification the token belongs to the other cluster, with the same times', () => {
    expect(afterVerification({ ...state, active: WEST }, kept, WEST).kept).toEqual({ ...kept, cluster: WEST })
  })

  test('pauses after failures double up to half a minute, and end with a success', () => {
    let at = state
    const pauses: number[] = []
    for (let index = 0; index < 7; index++) {
      at = afterFailure(at, NOW, 0)
      pauses.push((at.retryAt - NOW) / 1000)
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30])
    expect(afterLogin(at, granted, NOW, 0)).toMatchObject({ failures: 0, retryAt: 0 })
  })

  test('a look that finds no serving cluster is a failure', () => {
    const found = afterLook(state, undefined, { now: NOW, everyMs: 1000, chance: 0 })
    expect(found).toMatchObject({ failures: 1, hasLooked: false })
    expect(found).not.toHaveProperty('active')
  })
})

test('with any answers, the agent sends each credential right after a look', () => {
  const event = fc.record({
    pass: fc.boolean(),
    active: fc.constantFrom(EAST, WEST, undefined),
    lease: fc.integer({ min: 1, max: 3600 }),
    chance: fc.double({ min: 0, max: 0.999, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), events => {
      let [at, now, looked]: [AgentState, number, number] = [initialAgentState, NOW, -1]
      for (const { pass, active, lease, chance } of events) {
        const step = decideAgentStep(at, now)
        if (step.do === 'wait') {
          expect(step.until).toBeGreaterThan(now)
          now = step.until
          at = afterPause(at)
        } else if (step.do === 'look') {
          looked = now
          at = afterLook(at, active, { now, everyMs: 10_000, chance })
        } else {
          expect(looked).toBe(now)
          const granted = { cluster: at.active ?? '', lease, renewable: pass }
          expect(granted.cluster).not.toBe('')
          if (step.do === 'login')
            at = pass ? afterLogin(at, granted, now, chance) : afterFailure(at, now, chance)
          else if (!at.kept) throw new Error('no token')
          else if (step.do === 'verify')
            at = pass ? afterVerification(at, at.kept, granted.cluster) : afterRefusal(at, at.kept, now)
          else at = pass ? afterRenewal(at, at.kept, granted, now, chance) : afterFailure(at, now, chance)
        }
      }
    }),
  )
})
