import type { Use } from '../api/endpoint.ts'
import { bounds } from '../values/bounds.ts'

/** A Lambda that answers events rather than requests. */
export interface Worker {
  uses: readonly Use[]
  summary: string
  /** minutes */
  timeout: number
  /** MB, whatever the others have; absent: as much as they */
  memory?: number
  /**
   * what Lambda does with an event that it could not deliver, or whose run has failed, where nobody waits for the answer: for how
   * many minutes it keeps the event, and how often it tries again
   */
  queued?: { minutes: number; retries: 0 | 1 | 2 }
  /** minutes between runs, for one that a schedule starts */
  every?: number
  /** told of the items that are inserted into a table, where their partition keys begin so */
  stream?: { table: 'cluster'; partitions: string }
  /** deployed together with the API, which must not run without it */
  withApi?: true
}

/**
 * The event by which an embedded host has `on-pull` ask the others of the set before it serves: it was not there for a
 * while.
 */
export const HOST_RETURNS = { source: 'cloud-auth.host' } as const

/**
 * The event by which an embedded host has `on-journal` bring the hashes of the tree up to date, whatever that costs: there
 * reads cost nothing.
 */
export const HOST_REFRESHES = { source: 'cloud-auth.host' } as const

/** One line per worker, named after its folder in functions/. */
export const workers = {
  'on-tidy-schedule': {
    uses: ['read', 'write', 'background', 'licence'],
    summary:
      'starts the hourly tidy of every list, and whatever an earlier request left unfinished; tells of a licence that ends',
    timeout: 5,
    // the next round comes in an hour
    queued: { minutes: 60, retries: 2 },
    every: 60,
  },
  'on-job': {
    // beginning a journal stores items of every kind anew, so it needs all their grants
    uses: [
      'read',
      'write',
      'mint',
      'key-factory',
      'link',
      'recovery',
      'scan',
      'sweep',
      'access-keys',
      'background',
      'journal',
    ],
    // what is left undone for longer, the hourly round starts again
    queued: { minutes: 60, retries: 2 },
    summary:
      'runs background jobs: tidy, removal of mounts, ends of rotations, re-encryption, journals begun and ended',
    timeout: bounds.JOB_MINUTES,
  },
  'on-pull': {
    uses: ['read', 'journal', 'apply', 'link', 'key-factory', 'authorities'],
    summary:
      'follows the primary of a DR set, on a secondary; on a primary has others of the set end their epochs',
    // a run lasts a minute, and ends what it has in hand
    timeout: 2,
    // it runs all the time, and mostly waits: the least that Lambda has
    memory: 128,
    // the next run comes in a minute
    queued: { minutes: 1, retries: 0 },
    every: 1,
  },
  'on-operation': {
    uses: [
      'read',
      'write',
      'key-factory',
      'journal',
      'apply',
      'link',
      'pull',
      'operation-token',
      'events',
      'background',
      'authorities',
    ],
    summary: 'does the steps of operations, as their workflows name them',
    timeout: 15,
  },
  'on-attempt': {
    uses: ['read', 'ceremony', 'workflow'],
    summary: 'has executions wait for attempts to make a DR operation token, and for what becomes of them',
    timeout: 1,
  },
  'on-drill': {
    uses: ['read', 'link', 'workflow', 'events'],
    summary: 'rehearses a planned switch and the way back, where a deployment has the setting for it',
    timeout: 15,
    // a rehearsal that comes hours late, or twice, surprises operators
    queued: { minutes: 15, retries: 0 },
  },
  'on-journal': {
    uses: ['read', 'journal', 'workflow', 'link', 'events', 'authorities', 'role', 'background'],
    summary:
      'keeps the journal dense and its tree up to date; starts the workflow that an operation lacks, and re-encryption; tells of changes of role',
    timeout: 1,
    // the minute makes up for all but the line about a workflow's end
    queued: { minutes: 5, retries: 2 },
    every: 1,
    stream: { table: 'cluster', partitions: 'j#' },
  },
  'on-audit-entries': {
    uses: ['audit-log'],
    summary: 'carries audit entries from the logs of functions to the log group of the audit log',
    timeout: 1,
    withApi: true,
  },
} as const satisfies Record<string, Worker>
