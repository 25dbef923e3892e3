// Times that one component guarantees and that another component relies on. `bound-relations.ts` checks how they
// relate.

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 86_400_000

export const bounds = {
  /** how long journal entries are kept before DynamoDB deletes them */
  JOURNAL_RETENTION_DAYS: 30,
  /** how long a secondary can rely on a journal entry after it was written */
  JOURNAL_PROMISE_DAYS: 29,
  /** how long the key of a term is kept after nothing is encrypted with it any more; as long as point-in-time recovery */
  TERM_KEPT_DAYS: 35,

  /** interval of the secondaries' heartbeats, and of time entries in an idle journal */
  HEARTBEAT_MS: 10 * SECOND_MS,
  /** how long after a heartbeat of the active puller no other puller may start */
  PULLER_LEASE_MS: 25 * SECOND_MS,
  /** silence after which a cluster counts as lost: it is not waited for, and status reports it */
  PEER_LOST_MS: 30 * SECOND_MS,
  /** silence after which a secondary may be promoted without force, and operators are alerted */
  PRIMARY_LOST_MS: 60 * SECOND_MS,
  /** maximum silence that one interval between two unanswered calls adds; the rest may come from a clock change or a suspended process */
  SILENCE_STEP_MS: 15 * SECOND_MS,
  /** lag above which a secondary is not promoted without force */
  LARGEST_LAG_MS: 5 * SECOND_MS,
  /** maximum difference between the clocks of two clusters */
  CLOCK_SKEW_MS: 300 * SECOND_MS,

  /** age at which workers read the cluster record again */
  RECORD_REREAD_MS: 5 * SECOND_MS,
  /** age of a cluster record from which no write may begin */
  RECORD_AGE_MS: 20 * SECOND_MS,
  /** maximum duration of a write that began at the last moment */
  LAST_WRITE_MS: 3 * SECOND_MS,
  /** waiting time of a switch between plain and journaled writing, until no request writes in the old way */
  CHANGEOVER_WAIT_MS: 30 * SECOND_MS,

  /** time after the last share at which an attempt of a ceremony expires */
  ATTEMPT_IDLE_SECONDS: 3600,
  /** how long an execution waits for an attempt to start or to progress */
  ATTEMPT_WAIT_SECONDS: 3600,

  /** time-out of a login's function; `REQUEST_SECONDS` is that of all other requests */
  LOGIN_SECONDS: 15,
  REQUEST_SECONDS: 25,
  /** maximum duration of all calls to EC2, IAM and STS in one request */
  PROVIDER_MS: 10 * SECOND_MS,

  /** how long a request that starts an operation waits for its end */
  OPERATION_ANSWER_MS: 20 * SECOND_MS,
  /** how long the first step of an operation waits for another cluster */
  HANDSHAKE_MS: 18 * SECOND_MS,
  /** maximum duration of a call that fences another cluster; its answer contains a signed statement */
  FENCE_CALL_MS: 10 * SECOND_MS,
  /** how long after an entry or a notice a secondary polls twice a second */
  EAGER_MS: 6 * SECOND_MS,
  /** how long after an answered notice a primary sends the secondary no other notice */
  AWAKE_MS: 4 * SECOND_MS,
  /** how far before the frontier a replay begins */
  REPLAY_MARGIN_MS: 60 * SECOND_MS,

  /** time-out of the background worker */
  JOB_MINUTES: 10,
  /** how long a tidy lease lasts after a run took or renewed it */
  TIDY_LEASE_MS: 15 * MINUTE_MS,
  /** how long a rotation lease lasts after a request took or renewed it */
  ROTATION_LEASE_MS: 60 * SECOND_MS,
  /** how long a re-encryption lease lasts after a run took or renewed it */
  REENCRYPTION_LEASE_MS: 60 * SECOND_MS,
  /** delay between disabling a mount and removing its items */
  LATE_WRITE_WAIT_MS: 30 * SECOND_MS,

  /** interval at which a secondary checks whether it could take over */
  READINESS_MS: 600 * SECOND_MS,

  /** run time of a permanent worker; the schedule has started the next one by then */
  RUN_MS: 60 * SECOND_MS,
} as const

/** Milliseconds for which journal entries are guaranteed to other clusters. */
export const JOURNAL_PROMISED_FOR_MS = bounds.JOURNAL_PROMISE_DAYS * DAY_MS

/** Milliseconds for which the key of a term is kept after nothing is encrypted with it any more. */
export const UNUSED_TERM_KEPT_MS = bounds.TERM_KEPT_DAYS * DAY_MS
