// Times that one component promises and another relies on. `bound-relations.ts` says what ties them together.

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 86_400_000

export const bounds = {
  /** for so long journal entries are kept, before the engine deletes them */
  JOURNAL_RETENTION_DAYS: 30,
  /** for so long a secondary may count on them, once they are written */
  JOURNAL_PROMISE_DAYS: 29,
  /** for so long the key of a term is kept behind the moment at which nothing is encrypted by it any more: as long as point-in-time recovery reaches back */
  TERM_KEPT_DAYS: 35,

  /** a primary hears from its secondaries this often, and a journal that is quiet gets an entry that tells the time */
  HEARTBEAT_MS: 10 * SECOND_MS,
  /** nobody else pulls for so long after a heartbeat of who does */
  PULLER_LEASE_MS: 25 * SECOND_MS,
  /** a cluster that was not heard for so long is not waited for, and status says so */
  PEER_LOST_MS: 30 * SECOND_MS,
  /** a primary that was silent for so long can be done without, without force; and operators are told of silence */
  PRIMARY_LOST_MS: 60 * SECOND_MS,
  /** at most so much of the time between two unanswered calls counts as silence: the rest may come from a clock that was set, or a process that stood still */
  SILENCE_STEP_MS: 15 * SECOND_MS,
  /** a secondary that is further behind its primary does not take over without force */
  LARGEST_LAG_MS: 5 * SECOND_MS,
  /** clocks of two clusters may be so far apart */
  CLOCK_SKEW_MS: 300 * SECOND_MS,

  /** workers read the cluster record again at this age */
  RECORD_REREAD_MS: 5 * SECOND_MS,
  /** nobody begins to write by a cluster record of this age */
  RECORD_AGE_MS: 20 * SECOND_MS,
  /** a write that was begun at the last moment may still take so long */
  LAST_WRITE_MS: 3 * SECOND_MS,
  /** a change between plain and journaled writing waits so long, until nobody writes in the old way */
  CHANGEOVER_WAIT_MS: 30 * SECOND_MS,

  /** an attempt of a ceremony is over so long after its last share */
  ATTEMPT_IDLE_SECONDS: 3600,
  /** an execution waits so long for an attempt, or for what becomes of one */
  ATTEMPT_WAIT_SECONDS: 3600,

  /** the function of a login is stopped after so long, and that of any other request after `REQUEST_SECONDS` */
  LOGIN_SECONDS: 15,
  REQUEST_SECONDS: 25,
  /** all calls to EC2, IAM and STS in one request may take so long */
  PROVIDER_MS: 10 * SECOND_MS,

  /** a request that starts an operation waits so long for its end */
  OPERATION_ANSWER_MS: 20 * SECOND_MS,
  /** the first step of an operation waits so long for another cluster */
  HANDSHAKE_MS: 18 * SECOND_MS,
  /** a call that fences another cluster may take so long; its answer holds a statement */
  FENCE_CALL_MS: 10 * SECOND_MS,
  /** a secondary asks twice a second for so long after an entry or a notice has come */
  EAGER_MS: 6 * SECOND_MS,
  /** a primary sends a secondary no other notice for so long after one that it answered */
  AWAKE_MS: 4 * SECOND_MS,
  /** a replay begins so long before the frontier */
  REPLAY_MARGIN_MS: 60 * SECOND_MS,

  /** the worker of background jobs is stopped after so long */
  JOB_MINUTES: 10,
  /** nobody else tidies a list for so long after a runner took or renewed its lease */
  TIDY_LEASE_MS: 15 * MINUTE_MS,
  /** nobody else rotates the root key of a mount for so long after a request took or renewed its lease */
  ROTATION_LEASE_MS: 60 * SECOND_MS,
  /** nobody else re-encrypts for so long after a run took or renewed its lease */
  REENCRYPTION_LEASE_MS: 60 * SECOND_MS,
  /** the items of a disabled mount are removed so long after it was disabled */
  LATE_WRITE_WAIT_MS: 30 * SECOND_MS,

  /** a secondary tries so often whether it could take over */
  READINESS_MS: 600 * SECOND_MS,

  /** a worker that runs all the time ends so long after it began: the schedule has started the next one */
  RUN_MS: 60 * SECOND_MS,
} as const

/** Milliseconds for which journal entries are promised to others. */
export const JOURNAL_PROMISE_MS = bounds.JOURNAL_PROMISE_DAYS * DAY_MS

/** Milliseconds for which the key of a term is kept once nothing is encrypted by it. */
export const TERM_KEPT_MS = bounds.TERM_KEPT_DAYS * DAY_MS
