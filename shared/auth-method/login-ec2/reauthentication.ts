import { createRefusal, type Refusal } from '../../api/errors.ts'
import type { AccessEntry } from '../../model/access-entry.ts'
import { failed, ok, type Result } from '../../values/result.ts'
import { type Secret, secretsEqual } from '../../values/secret.ts'
import { comparePreciseTimes, type PreciseTime, parsePreciseTime } from '../../values/time.ts'

/** The facts that decide whether an instance may log in again. */
export interface ReauthenticationFacts {
  /** access-list entry with its nonce decrypted; expired entries count too */
  entry?: { stored: Omit<AccessEntry, 'clientNonce'>; nonce?: Secret }
  /** `sentNonce` is absent if the client sent no nonce */
  sentNonce?: string
  /** a new UUID, used if the client sent no nonce */
  freshNonce: string
  /** start time of the instance in its document */
  startedAt: PreciseTime
  allowMigration: boolean
  /** `disallow` is set by the role or its tag */
  disallow: boolean
}

/** The changes that a login makes to the access-list entry. */
export interface Reauthentication {
  /** `nonce` is empty if reauthentication is disabled */
  nonce: string
  disallow: boolean
  /** true if the response must contain the nonce */
  disclose: boolean
}

/** The legacy nonce that disables reauthentication. The legacy nonce means the same as an empty nonce. */
const SENTINEL = 'reauthentication-disabled-nonce'
const LONGEST_NONCE = 128

/**
 * Decides a login by its nonce and the `pendingTime` of its document.
 * @see docs/spec/login-ec2.md#nonce
 */
export function checkReauthentication(facts: ReauthenticationFacts): Result<Reauthentication, Refusal> {
  const given = facts.sentNonce === SENTINEL ? '' : facts.sentNonce
  const disallow = facts.disallow || given === ''
  if ((given?.length ?? 0) > LONGEST_NONCE && !disallow) {
    return failed(createRefusal('nonce-length', `nonce is longer than ${LONGEST_NONCE} characters`))
  }
  if (!facts.entry) return settle(disallow, given, given ?? facts.freshNonce)
  const returning = judgeReturn(facts, given)
  if (!returning.ok) return returning
  return settle(disallow, given, given ?? (returning.value === 'migrated' ? facts.freshNonce : ''))
}

const settle = (disallow: boolean, given: string | undefined, nonce: string) =>
  ok({ nonce: disallow ? '' : nonce, disallow, disclose: !disallow && given === undefined })

function judgeReturn(
  facts: ReauthenticationFacts,
  given: string | undefined,
): Result<'same' | 'migrated', Refusal> {
  const { stored, nonce } = facts.entry ?? {}
  if (stored?.disallowReauthentication || given === '') {
    return failed(createRefusal('reauthentication-disabled', 'repeat login is disabled for this instance'))
  }
  const before = parsePreciseTime(stored?.pendingTime ?? '')
  if (!nonce || !before)
    return failed(
      createRefusal('entry-damaged', 'the access-list entry of this instance is damaged; delete it'),
    )
  const age = comparePreciseTimes(facts.startedAt, before)
  if (given === undefined || !secretsEqual(given, nonce.reveal())) {
    if (!facts.allowMigration) return failed(createRefusal('nonce-mismatch', 'nonce does not match'))
    if (age <= 0)
      return failed(
        createRefusal('nonce-mismatch', 'nonce does not match, and pendingTime is not later than before'),
      )
    return ok('migrated')
  }
  return age < 0
    ? failed(createRefusal('document-older', 'pendingTime is older than at the last login'))
    : ok('same')
}
