// Times that one place promises and another relies on. What ties them together is checked when this file is loaded, so that
// a service, a host or a synthesis with bounds that contradict each other does not start.

const SECOND_MS = 1000
const DAY_MS = 86_400_000

/** So far back DynamoDB's point-in-time recovery reaches, at most. */
const RECOVERY_DAYS = 35

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

  /** a secondary tries so often whether it could take over */
  READINESS_MS: 600 * SECOND_MS,

  /** a worker that runs all the time ends so long after it began: the schedule has started the next one */
  RUN_MS: 60 * SECOND_MS,
} as const

export type Bounds = Readonly<Record<keyof typeof bounds, number>>

/** What has to hold between them, in words. */
const relations: readonly (readonly [string, (all: Bounds) => boolean])[] = [
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
    'an execution hears of an attempt for as long as it lives',
    all => all.ATTEMPT_IDLE_SECONDS <= all.ATTEMPT_WAIT_SECONDS,
  ],
]

/** What does not hold between bounds, in words. */
export const brokenRelations = (all: Bounds): string[] =>
  relations.filter(([, holds]) => !holds(all)).map(([text]) => text)

const broken = brokenRelations(bounds)
if (broken.length > 0) throw new Error(`bounds contradict each other: ${broken.join('; ')}`)

/** Milliseconds for which journal entries are promised to others. */
export const JOURNAL_PROMISE_MS = bounds.JOURNAL_PROMISE_DAYS * DAY_MS

/** Milliseconds for which the key of a term is kept once nothing is encrypted by it. */
export const TERM_KEPT_MS = bounds.TERM_KEPT_DAYS * DAY_MS
