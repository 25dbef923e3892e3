import { describe, expect, test } from 'vitest'
import {
  checkReauthentication,
  type ReauthenticationFacts,
} from '../../../../shared/auth-method/login-ec2/reauthentication.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { parsePreciseTime } from '../../../../shared/values/time.ts'

const STORED = '2026-03-01T10:00:00Z'
const times = { same: STORED, newer: '2026-03-01T10:00:01Z', older: '2026-03-01T09:59:59Z' }
const SENTINEL = 'reauthentication-disabled-nonce'

interface Row {
  entry: 'none' | 'normal' | 'disallowed'
  nonce: 'absent' | 'empty' | 'sentinel' | 'equal' | 'different'
  disallow?: boolean
  migration?: boolean
  document?: keyof typeof times
  /** the stored nonce, whether it is returned, and whether reauthentication stays allowed; or the refusal */
  leads: ['fresh' | 'sent' | 'none', 'told' | 'untold', 'open' | 'closed'] | string
}

const nonces = { absent: undefined, empty: '', sentinel: SENTINEL, equal: 'right', different: 'wrong' }

const factsOf = ({
  entry,
  nonce,
  disallow = false,
  migration = false,
  document = 'same',
}: Row): ReauthenticationFacts => {
  const sent = nonces[nonce]
  const stored = {
    role: 'dev',
    disallowReauthentication: entry === 'disallowed',
    pendingTime: STORED,
    createdAt: 0,
    updatedAt: 0,
    expiresAt: 0,
  }
  return {
    ...(entry === 'none'
      ? {}
      : { entry: { stored, ...(entry === 'normal' ? { nonce: new Secret('right') } : {}) } }),
    ...(sent === undefined ? {} : { sentNonce: sent }),
    freshNonce: 'fresh',
    startedAt: parsePreciseTime(times[document]) ?? expect.fail(),
    allowMigration: migration,
    disallow,
  }
}

function outcome(row: Row): Row['leads'] {
  const reauthentication = checkReauthentication(factsOf(row))
  if (!reauthentication.ok) return reauthentication.fault.text
  const decided = reauthentication.value
  const kept = decided.nonce === '' ? 'none' : decided.nonce === 'fresh' ? 'fresh' : 'sent'
  if (kept === 'sent') expect(decided.nonce).toBe(nonces[row.nonce])
  return [kept, decided.disclose ? 'told' : 'untold', decided.disallow ? 'closed' : 'open']
}

const disabled = 'repeat login is disabled for this instance'
const mismatch = 'nonce does not match'
const notNewer = 'nonce does not match, and pendingTime is not later than before'
const older = 'pendingTime is older than at the last login'

/**
 * The cases of the page on reauthentication, in all combinations.
 * @see docs/spec/login-ec2.md#nonce
 */
const rows: Row[] = [
  // none | absent | no | any
  { entry: 'none', nonce: 'absent', leads: ['fresh', 'told', 'open'] },
  { entry: 'none', nonce: 'absent', migration: true, leads: ['fresh', 'told', 'open'] },
  // none | value | no | any
  { entry: 'none', nonce: 'different', leads: ['sent', 'untold', 'open'] },
  { entry: 'none', nonce: 'different', migration: true, leads: ['sent', 'untold', 'open'] },
  // none | empty | no | any
  { entry: 'none', nonce: 'empty', leads: ['none', 'untold', 'closed'] },
  { entry: 'none', nonce: 'empty', migration: true, leads: ['none', 'untold', 'closed'] },
  { entry: 'none', nonce: 'sentinel', leads: ['none', 'untold', 'closed'] },
  // none | any | yes
  { entry: 'none', nonce: 'absent', disallow: true, leads: ['none', 'untold', 'closed'] },
  { entry: 'none', nonce: 'different', disallow: true, leads: ['none', 'untold', 'closed'] },
  { entry: 'none', nonce: 'empty', disallow: true, leads: ['none', 'untold', 'closed'] },
  { entry: 'none', nonce: 'sentinel', disallow: true, leads: ['none', 'untold', 'closed'] },
  // disallowed | any | any | any | any
  ...(['absent', 'empty', 'sentinel', 'equal', 'different'] as const).flatMap(nonce =>
    [true, false].flatMap(disallow =>
      [true, false].flatMap(migration =>
        (['same', 'newer', 'older'] as const).map(
          (document): Row => ({ entry: 'disallowed', nonce, disallow, migration, document, leads: disabled }),
        ),
      ),
    ),
  ),
  // normal | empty, or the sentinel | any | any | any
  ...(['empty', 'sentinel'] as const).flatMap(nonce =>
    [true, false].flatMap(migration =>
      (['same', 'newer', 'older'] as const).map(
        (document): Row => ({ entry: 'normal', nonce, migration, document, leads: disabled }),
      ),
    ),
  ),
  // normal | equal | no | any | >=
  { entry: 'normal', nonce: 'equal', leads: ['sent', 'untold', 'open'] },
  { entry: 'normal', nonce: 'equal', document: 'newer', leads: ['sent', 'untold', 'open'] },
  { entry: 'normal', nonce: 'equal', migration: true, leads: ['sent', 'untold', 'open'] },
  // normal | equal | any | any | <
  { entry: 'normal', nonce: 'equal', document: 'older', leads: older },
  { entry: 'normal', nonce: 'equal', document: 'older', migration: true, leads: older },
  { entry: 'normal', nonce: 'equal', document: 'older', disallow: true, leads: older },
  // normal | different or absent | no | no | any
  ...(['different', 'absent'] as const).flatMap(nonce =>
    (['same', 'newer', 'older'] as const).map(
      (document): Row => ({ entry: 'normal', nonce, document, leads: mismatch }),
    ),
  ),
  // normal | different or absent | no | yes | >
  {
    entry: 'normal',
    nonce: 'different',
    migration: true,
    document: 'newer',
    leads: ['sent', 'untold', 'open'],
  },
  { entry: 'normal', nonce: 'absent', migration: true, document: 'newer', leads: ['fresh', 'told', 'open'] },
  // normal | different or absent | no | yes | <=
  { entry: 'normal', nonce: 'different', migration: true, leads: notNewer },
  { entry: 'normal', nonce: 'different', migration: true, document: 'older', leads: notNewer },
  { entry: 'normal', nonce: 'absent', migration: true, leads: notNewer },
  { entry: 'normal', nonce: 'absent', migration: true, document: 'older', leads: notNewer },
  // normal | equal | yes | - | >=
  { entry: 'normal', nonce: 'equal', disallow: true, leads: ['none', 'untold', 'closed'] },
  { entry: 'normal', nonce: 'equal', disallow: true, document: 'newer', leads: ['none', 'untold', 'closed'] },
  // a role tag that disallows reauthentication, for a role that allows migration
  {
    entry: 'normal',
    nonce: 'different',
    disallow: true,
    migration: true,
    document: 'newer',
    leads: ['none', 'untold', 'closed'],
  },
  { entry: 'normal', nonce: 'absent', disallow: true, leads: mismatch },
]

describe('nonce and pendingTime', () => {
  test.each(rows)(
    'entry $entry, nonce $nonce, disallow $disallow, migration $migration, document $document: $leads',
    row => {
      expect(outcome(row)).toEqual(row.leads)
    },
  )
})

describe('comparing times and nonces', () => {
  const usual: Row = { entry: 'normal', nonce: 'equal', leads: '' }
  const judged = (changes: Partial<ReauthenticationFacts>) => {
    const decided = checkReauthentication({ ...factsOf(usual), ...changes })
    return decided.ok ? 'accepted' : decided.fault.why
  }
  const started = (text: string) => ({ startedAt: parsePreciseTime(text) ?? expect.fail() })
  const entry = (pendingTime: string, nonce?: string) => ({
    entry: {
      stored: { ...(factsOf(usual).entry?.stored ?? expect.fail()), pendingTime },
      ...(nonce === undefined ? {} : { nonce: new Secret(nonce) }),
    },
  })

  test.each([
    ['2026-03-01T10:00:00.000000001Z', '2026-03-01T10:00:00.000000002Z', 'document-older'],
    ['2026-03-01T10:00:00.000000002Z', '2026-03-01T10:00:00.000000002Z', 'accepted'],
    ['2026-03-01T10:00:00.5Z', '2026-03-01T10:00:00.50Z', 'accepted'],
    ['2026-03-01T10:00:00Z', '2026-03-01T11:00:00+01:00', 'accepted'],
    ['2026-03-01T10:00:00Z', '2026-03-01T10:00:00-00:01', 'document-older'],
  ])('a document of %s against an entry of %s returns %s', (document, stored, expected) => {
    expect(judged({ ...started(document), ...entry(stored, 'right') })).toBe(expected)
  })

  test.each([
    ['without nonce', entry(STORED)],
    ['with a time that is none', entry('yesterday', 'right')],
    ['with an empty time', entry('', 'right')],
  ])('an entry %s is rejected as damaged', (_, changes) => {
    expect(judged(changes)).toBe('entry-damaged')
  })

  test.each([
    ['longer', 'right '],
    ['shorter', 'righ'],
    ['in another case', 'RIGHT'],
  ])('a nonce that is %s is rejected', (_, sentNonce) => {
    expect(judged({ sentNonce })).toBe('nonce-mismatch')
  })

  test.each([
    [128, false, 'accepted'],
    [129, false, 'nonce-length'],
    [129, true, 'accepted'],
  ])(
    'a first login with a nonce of %i characters and disallow %s returns %s',
    (length, disallow, expected) => {
      const { entry: _, ...first } = factsOf(usual)
      const decided = checkReauthentication({ ...first, sentNonce: 'x'.repeat(length), disallow })
      expect(decided.ok ? 'accepted' : decided.fault.why).toBe(expected)
    },
  )

  test('a too long nonce is also rejected at a repeated login', () => {
    expect(judged({ sentNonce: 'x'.repeat(129) })).toBe('nonce-length')
  })
})
