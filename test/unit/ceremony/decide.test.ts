import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countAttemptStart,
  decideAttemptCancel,
  decideAttemptStart,
  decideShare,
  type SubmittedShareFacts,
} from '../../../shared/ceremony/decide.ts'
import { attemptInProgressError } from '../../../shared/ceremony/refusals.ts'
import { hashRecoveryShare } from '../../../shared/cluster/recovery.ts'
import type { AttemptSecrets, CeremonyAttempt, CeremonySlot } from '../../../shared/model/ceremony.ts'
import type { RecoveryKey } from '../../../shared/model/cluster.ts'
import { failed, ok } from '../../../shared/values/result.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'

const NOW = 1_700_000_000_000
const attempt: CeremonyAttempt = {
  purpose: 'root',
  nonce: 'n-1',
  progress: 0,
  recoveryKey: 'v',
  secrets: '' as EncryptedText,
}
const idle: CeremonySlot = { strangerStarts: [] }
const busy: CeremonySlot = { strangerStarts: [NOW], attempt }
const secrets = (...shares: Buffer[]): AttemptSecrets => ({
  nonce: 'n-1',
  otp: 'o',
  shares: shares.map(share => share.toString('hex')),
})
const [a, b, c, d] = [randomBytes(33), randomBytes(33), randomBytes(33), randomBytes(33)]
const FOREIGN = expect.stringMatching(/^given key is not a recovery share/)
/** Builds the recovery key that the given shares combine to. */
const recoveryOf = (shares: readonly Buffer[], threshold = 3): RecoveryKey => ({
  shares: 3,
  threshold,
  since: NOW,
  verifier: 'v',
  shareHashes: shares.map(hashRecoveryShare),
})
const facts = (more: Partial<SubmittedShareFacts> = {}): SubmittedShareFacts => ({
  slot: busy,
  secrets: secrets(),
  recovery: recoveryOf([a, b, c]),
  ...more,
})
const tooMany = (retryAfter: number) => expect.objectContaining({ code: 'too_many_requests', retryAfter })
const given = (share: Buffer, nonce = 'n-1') => ({ purpose: 'root', nonce, share }) as const

describe('starting an attempt', () => {
  test('an attempt starts if the slot is free', () => {
    expect(decideAttemptStart({ slot: idle, now: NOW }, false)).toEqual(ok())
  })

  test('a start is rejected while an attempt is running', () => {
    expect(decideAttemptStart({ slot: busy, now: NOW }, false)).toEqual({
      ok: false,
      fault: attemptInProgressError('root'),
    })
  })
})

describe('submitting a share', () => {
  test.each([
    [
      'without an attempt',
      given(a),
      facts({ slot: idle, secrets: undefined }),
      /^no root generation in progress; /,
    ],
    ['for another attempt', given(a, 'n-2'), facts(), /^incorrect nonce supplied.*"n-1"$/],
    ['without nonce', given(a, ''), facts(), /^incorrect nonce supplied/],
    ['given before', given(Buffer.from(a)), facts({ secrets: secrets(b, a) }), /already been provided/],
  ])('%s is rejected without changes', (_, share, known, text) => {
    expect(decideShare(share, known)).toEqual({
      ok: false,
      fault: expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(text),
      }),
    })
  })

  test('shares are collected up to the threshold', () => {
    const verdict = decideShare(given(b), facts({ secrets: secrets(a) }))
    expect(verdict).toEqual(ok({ attempt, secrets: secrets(a, b), enough: false }))
    expect(decideShare(given(c), facts({ secrets: secrets(a, b) }))).toEqual(
      ok({
        attempt,
        secrets: secrets(a, b, c),
        enough: true,
      }),
    )
  })

  test('a share of another key is rejected with its own text, and the collected shares stay', () => {
    const foreign = failed(expect.objectContaining({ code: 'invalid_request', message: FOREIGN }))
    expect(decideShare(given(d), facts({ secrets: secrets(a, b) }))).toEqual(foreign)
    expect(decideShare(given(a.subarray(1)), facts())).toEqual(foreign)
    expect(decideShare(given(d, 'n-2'), facts())).not.toEqual(foreign)
  })

  test('with a threshold of one, a single share is enough', () => {
    expect(decideShare(given(a), facts({ recovery: recoveryOf([a], 1) }))).toMatchObject(ok({ enough: true }))
  })

  test('each share counts once, in any order, up to the threshold', () => {
    const pool = [a, b, c]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pool), { maxLength: 12 }), shares => {
        let held = secrets()
        for (const share of shares) {
          const verdict = decideShare(given(share), facts({ secrets: held, recovery: recoveryOf(pool, 4) }))
          if (verdict.ok) held = verdict.value.secrets
        }
        expect(new Set(held.shares)).toEqual(new Set(shares.map(one => one.toString('hex'))))
        expect(held.shares).toHaveLength(new Set(shares).size)
      }),
    )
  })
})

describe('the rate limit of an anonymous ceremony', () => {
  const tries = (count: number, everyMs: number) =>
    Array.from({ length: count }, (_, index) => NOW - (count - 1 - index) * everyMs)

  test('after ten starts in a minute the caller must wait until the oldest is a minute old', () => {
    expect(decideAttemptStart({ slot: { strangerStarts: tries(9, 1000) }, now: NOW }, false)).toEqual(ok())
    expect(decideAttemptStart({ slot: { strangerStarts: tries(10, 1000) }, now: NOW }, false)).toEqual({
      ok: false,
      fault: tooMany(51),
    })
    expect(
      decideAttemptStart({ slot: { strangerStarts: tries(10, 1000) }, now: NOW + 51_000 }, false),
    ).toEqual(ok())
    expect(decideAttemptStart({ slot: { strangerStarts: tries(10, 7000) }, now: NOW }, false)).toEqual(ok())
  })

  test('anonymous and authorised starts are counted separately, shares are not counted', () => {
    const full = tries(10, 1000)
    const start = (more: Partial<CeremonySlot>, held: boolean) =>
      decideAttemptStart({ slot: { ...idle, ...more }, now: NOW }, held).ok
    expect([start({ strangerStarts: full }, false), start({ strangerStarts: full }, true)]).toEqual([
      false,
      true,
    ])
    expect([start({ authorisedStarts: full }, false), start({ authorisedStarts: full }, true)]).toEqual([
      true,
      false,
    ])
    const slot = { ...busy, strangerStarts: full, authorisedStarts: full }
    expect(decideShare(given(c), facts({ slot, secrets: secrets(a, b) }))).toMatchObject(ok({ enough: true }))
  })

  test.each([
    ['strangers began', {}, false, true],
    ['strangers began, with a share', { progress: 1 }, false, false],
    ['holders began', { authorised: true }, false, false],
    ['strangers began, with a share', { progress: 1 }, true, true],
    ['holders began, with a share', { authorised: true, progress: 1 }, true, true],
  ] as const)(
    'cancelling an attempt that %s (%j), by an authorised caller %s, succeeds: %s',
    (_, more, held, ends) => {
      expect(decideAttemptCancel({ ...attempt, progress: 0, ...more }, held).ok).toBe(ends)
    },
  )

  test('the number of recorded starts is bounded', () => {
    let slot: CeremonySlot = idle
    for (let ms = 0; ms < 500; ms++) slot = countAttemptStart({ slot, now: NOW + ms }, 'strangerStarts')
    expect(slot.strangerStarts).toHaveLength(10)
    expect(countAttemptStart({ slot, now: NOW + 3_600_000 }, 'strangerStarts')).toEqual({
      strangerStarts: [NOW + 3_600_000],
    })
  })

  test('any sixty seconds contain at most ten starts', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }), pauses => {
        let slot: CeremonySlot = idle
        let now = NOW
        const taken: number[] = []
        for (const pause of pauses) {
          now += pause
          const verdict = decideAttemptStart({ slot, now }, false)
          if (!verdict.ok) {
            expect(verdict.fault.retryAfter).toBeGreaterThan(0)
            continue
          }
          slot = countAttemptStart({ slot, now }, 'strangerStarts')
          taken.push(now)
        }
        for (const end of taken)
          expect(taken.filter(at => at <= end && at > end - 60_000).length).toBeLessThanOrEqual(10)
      }),
    )
  })
})
