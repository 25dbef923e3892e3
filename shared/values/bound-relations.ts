import type { bounds } from './bounds.ts'

/** Maximum days of DynamoDB's point-in-time recovery. */
const RECOVERY_DAYS = 35

export type BoundValues = Readonly<Record<keyof typeof bounds, number>>

/** Relations that must hold between the bounds, each with a sentence. */
const relations: readonly (readonly [string, (all: BoundValues) => boolean])[] = [
  [
    'journal entries are kept a day longer than guaranteed, because DynamoDB’s clock may differ',
    all => all.JOURNAL_PROMISE_DAYS + 1 <= all.JOURNAL_RETENTION_DAYS,
  ],
  [
    'a key term is kept longer than journals and backups with values that the key term encrypted',
    all => Math.max(all.JOURNAL_RETENTION_DAYS, RECOVERY_DAYS) <= all.TERM_KEPT_DAYS,
  ],
  ['the puller’s lease lasts longer than two heartbeats', all => 2 * all.HEARTBEAT_MS < all.PULLER_LEASE_MS],
  ['the puller’s lease is shorter than a run of the puller', all => all.PULLER_LEASE_MS < all.RUN_MS],
  [
    'a peer counts as lost after three heartbeats without an answer',
    all => 3 * all.HEARTBEAT_MS <= all.PEER_LOST_MS,
  ],
  ['a primary counts as lost no earlier than another peer', all => all.PEER_LOST_MS <= all.PRIMARY_LOST_MS],
  [
    'the heartbeat interval is at most the silence that an unanswered call can add',
    all => all.HEARTBEAT_MS <= all.SILENCE_STEP_MS,
  ],
  [
    'a primary counts as lost only after more than three unanswered calls',
    all => 3 * all.SILENCE_STEP_MS < all.PRIMARY_LOST_MS,
  ],
  [
    'the largest allowed lag is shorter than the time after which a peer counts as lost',
    all => all.LARGEST_LAG_MS < all.PEER_LOST_MS,
  ],
  [
    'a worker reads the cluster record again before the record reaches half of its allowed age',
    all => 2 * all.RECORD_REREAD_MS <= all.RECORD_AGE_MS,
  ],
  [
    'a role change waits longer than the maximum age of a cached record plus one late write',
    all => all.RECORD_AGE_MS + all.LAST_WRITE_MS < all.CHANGEOVER_WAIT_MS,
  ],
  [
    'a login that waits for AWS has time left to commit',
    all => all.PROVIDER_MS + all.LAST_WRITE_MS < all.LOGIN_SECONDS * 1000,
  ],
  [
    'an operation answers before the request times out',
    all => all.OPERATION_ANSWER_MS < all.REQUEST_SECONDS * 1000,
  ],
  [
    'the first step of an operation ends before its request is answered',
    all => all.HANDSHAKE_MS < all.OPERATION_ANSWER_MS,
  ],
  [
    'a call that fences a cluster ends before a cached record is too old',
    all => all.FENCE_CALL_MS < all.RECORD_AGE_MS,
  ],
  ['a secondary polls longer than a primary pauses between notices', all => all.AWAKE_MS < all.EAGER_MS],
  [
    'a replay begins before the oldest write that may still arrive',
    all => all.RECORD_AGE_MS + all.LAST_WRITE_MS < all.REPLAY_MARGIN_MS,
  ],
  [
    'the lease of a tidy job lasts longer than the worker',
    all => all.JOB_MINUTES * 60_000 < all.TIDY_LEASE_MS,
  ],
  [
    'the lease of a key rotation lasts longer than its request',
    all => all.REQUEST_SECONDS * 1000 < all.ROTATION_LEASE_MS,
  ],
  [
    'the lease of re-encryption lasts longer than a late write may take',
    all => all.LAST_WRITE_MS < all.REENCRYPTION_LEASE_MS,
  ],
  [
    'the removal of a mount waits longer than the maximum age of a cached record plus one late write',
    all => all.RECORD_AGE_MS + all.LAST_WRITE_MS < all.LATE_WRITE_WAIT_MS,
  ],
  [
    'a ceremony’s workflow waits at least until an idle attempt expires',
    all => all.ATTEMPT_IDLE_SECONDS <= all.ATTEMPT_WAIT_SECONDS,
  ],
]

/** Returns the relations that do not hold between bounds. */
export const findBrokenBoundRelations = (all: BoundValues): string[] =>
  relations.filter(([, holds]) => !holds(all)).map(([text]) => text)
