import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkReauthentication,
  type ReauthenticationFacts,
} from '../../../../shared/auth-method/login-ec2/reauthentication.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { formatTime } from '../../../../shared/values/time.ts'

/** One login attempt: its client, the start time of the instance and the role's settings. */
interface Try {
  sent: 'own' | 'guess' | 'none' | 'empty'
  start: number
  disallow: boolean
  allowMigration: boolean
}

interface State {
  entry?: ReauthenticationFacts['entry'] & {}
  /** the nonce that the client knows: its own nonce, or the nonce that the service returned */
  known: string
  accepted: number
}

function step(state: State, { sent, start, disallow, allowMigration }: Try, turn: number): State {
  const sentNonce = { own: state.known, guess: `guess ${turn}`, none: undefined, empty: '' }[sent]
  const reauthentication = checkReauthentication({
    ...(state.entry ? { entry: state.entry } : {}),
    ...(sentNonce === undefined ? {} : { sentNonce }),
    freshNonce: `fresh ${turn}`,
    startedAt: { seconds: start, fraction: '' },
    allowMigration,
    disallow,
  })
  if (!reauthentication.ok) return state
  const decided = reauthentication.value
  const stored = {
    role: 'dev',
    disallowReauthentication: decided.disallow,
    pendingTime: formatTime(start * 1000),
    createdAt: 0,
    updatedAt: 0,
    expiresAt: 0,
  }
  const entry = { stored, ...(decided.nonce === '' ? {} : { nonce: new Secret(decided.nonce) }) }
  return {
    entry,
    known: decided.disclose ? decided.nonce : (sentNonce ?? state.known),
    accepted: state.accepted + 1,
  }
}

const tries = (parts: Partial<Record<keyof Try, fc.Arbitrary<unknown>>> = {}) =>
  fc.array(
    fc.record({
      sent: fc.constantFrom('own', 'guess', 'none', 'empty'),
      start: fc.nat(5),
      disallow: fc.boolean(),
      allowMigration: fc.boolean(),
      ...parts,
    }) as fc.Arbitrary<Try>,
    { maxLength: 12 },
  )

describe('random sequences of logins', () => {
  test('the stored start time of the instance never decreases', () => {
    fc.assert(
      fc.property(tries(), list => {
        let state: State = { known: 'mine', accepted: 0 }
        for (const [turn, one] of list.entries()) {
          const next = step(state, one, turn)
          const times = [state, next].map(({ entry }) => entry?.stored.pendingTime ?? '')
          expect((times[0] ?? '') <= (times[1] ?? '')).toBe(true)
          state = next
        }
      }),
    )
  })

  test('after reauthentication was disabled, every login is rejected', () => {
    fc.assert(
      fc.property(tries(), tries(), (before, after) => {
        const over = [
          ...before,
          { sent: 'own', start: 5, disallow: true, allowMigration: false } as Try,
        ].reduce(step, { known: 'mine', accepted: 0 })
        fc.pre(over.entry?.stored.disallowReauthentication === true)
        expect(after.reduce(step, over).accepted).toBe(over.accepted)
      }),
    )
  })

  test('without migration, every login without the right nonce is rejected', () => {
    const fixed = { allowMigration: fc.constant(false) }
    fc.assert(
      fc.property(tries({ ...fixed, sent: fc.constantFrom('guess', 'none', 'empty') }), list => {
        const first: Try = { sent: 'own', start: 0, disallow: false, allowMigration: false }
        const owner = step({ known: 'mine', accepted: 0 }, first, 0)
        expect(list.reduce(step, owner)).toEqual(owner)
        expect(step(owner, first, 1).accepted).toBe(2)
      }),
    )
  })
})
