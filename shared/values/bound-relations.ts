import type { bounds } from './bounds.ts'

/** Maximum days of DynamoDB's point-in-time recovery. */
const RECOVERY_DAYS = 35

export type BoundValues = Readonly<Record<keyof typeof bounds, number>>

/** Relations that must hold between the bounds, each with a sentence. */
const relations: readonly (readonly [string, (all: BoundValues) => boolean])[] = [
  [
    'a day lies between the promise and the deletion of a journal entry: the engine’s clock is not ours',
    all => all.JOURNAL_PROMISE_DAYS + 1 <= all.JOURNAL_RETENTION_DAYS,
  ],
  [
    'a term outlives the journals and the copies that hold texts of it',
    all => Math.max(all.JOURNAL_RETENTION_DAYS, RECOVERY_DAYS) <= all.TERM_KEPT_DAYS,
  ],
  ['a lease outlasts two heartbeats', all => 2 * all.HEARTBEAT_MS < all.PULLER_LEASE_MS],
  ['a lease ends within a run', all => all.PULLER_LEASE_MS < all.RUN_MS],
  ['a peer is lost after three heartbeats', all => 3 * all.HEARTBEAT_MS <= all.PEER_LOST_MS],
  ['a primary is lost no earlier than any peer', all => all.PEER_LOST_MS <= all.PRIMARY_LOST_MS],
  ['heartbeats in vain are a whole silence', all => all.HEARTBEAT_MS <= all.SILENCE_STEP_MS],
  ['a primary is lost after three questions', all => 3 * all.SILENCE_STEP_MS < all.PRIMARY_LOST_MS],
  ['a lag is judged before a peer is lost', all => all.LARGEST_LAG_MS < all.PEER_LOST_MS],
  [
    'records are read again well before they are too old',
    all => 2 * all.RECORD_REREAD_MS <= all.RECORD_AGE_MS,
  ],
  [
    'a changeover outlasts the oldest record and the last write',
    all => all.RECORD_AGE_MS + all.LAST_WRITE_MS < all.CHANGEOVER_WAIT_MS,
  ],
  [
    'a login that waits for AWS has time to read before and to commit after',
    all => all.PROVIDER_MS + all.LAST_WRITE_MS < all.LOGIN_SECONDS * 1000,
  ],
  [
    'an operation is answered within its request',
    all => all.OPERATION_ANSWER_MS < all.REQUEST_SECONDS * 1000,
  ],
  ['a first step ends before its request is answered', all => all.HANDSHAKE_MS < all.OPERATION_ANSWER_MS],
  ['a fenced cluster answers before its record is too old', all => all.FENCE_CALL_MS < all.RECORD_AGE_MS],
  ['a secondary asks for longer than its primary is silent', all => all.AWAKE_MS < all.EAGER_MS],
  [
    'a replay begins before the oldest write that may still come',
    all => all.RECORD_AGE_MS + all.LAST_WRITE_MS < all.REPLAY_MARGIN_MS,
  ],
  ['a lease of tidy outlasts its worker', all => all.JOB_MINUTES * 60_000 < all.TIDY_LEASE_MS],
  ['a lease of a rotation outlasts its request', all => all.REQUEST_SECONDS * 1000 < all.ROTATION_LEASE_MS],
  [
    'a lease of re-encryption outlasts the write that renews it',
    all => all.LAST_WRITE_MS < all.REENCRYPTION_LEASE_MS,
  ],
  [
    'a removal waits for the oldest record and the last write',
    all => all.RECORD_AGE_MS + all.LAST_WRITE_MS < all.LATE_WRITE_WAIT_MS,
  ],
  [
    'an execution hears of an attempt for as long as it lives',
    all => all.ATTEMPT_IDLE_SECONDS <= all.ATTEMPT_WAIT_SECONDS,
  ],
]

/** Returns the relations that do not hold between bounds. */
export const findBrokenBoundRelations = (all: BoundValues): string[] =>
  relations.filter(([, holds]) => !holds(all)).map(([text]) => text)
