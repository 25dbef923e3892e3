import type { EndpointUse } from '../api/endpoint.ts'
import { bounds } from '../values/bounds.ts'

/** A Lambda that gets events instead of requests. */
export interface WorkerDefinition {
  uses: readonly EndpointUse[]
  summary: string
  /** minutes */
  timeout: number
  /** MB; absent: the same as all other functions */
  memory?: number
  /**
   * For asynchronous events: how many minutes Lambda keeps an event that it could not deliver or whose run failed, and how
   * often it retries.
   */
  queued?: { minutes: number; retries: 0 | 1 | 2 }
  /** minutes between scheduled runs */
  every?: number
  /** the table stream whose inserted items it gets, filtered by the beginning of the partition key */
  stream?: { table: 'cluster'; partitions: string }
  /** deployed together with the API, which must not run without it */
  withApi?: true
  /** deployed only with this setting */
  setting?: 'instanceEvents'
}

/**
 * The event by which an embedded host that was suspended starts `on-pull`: it asks the other clusters of the set before
 * this one serves.
 */
export const HOST_RETURNS = { source: 'cloud-auth.host' } as const

/** The event by which an embedded host makes `on-journal` refresh the hashes of the tree at once. Reads are free there. */
export const HOST_REFRESHES = { source: 'cloud-auth.host' } as const

/** All workers, one line each. A worker has the name of its folder in functions/. */
export const workerDefinitions = {
  'on-tidy-schedule': {
    uses: ['read', 'write', 'background', 'licence'],
    summary:
      'starts the hourly tidy of every list, and completes unfinished requests; warns before a licence expires',
    timeout: 5,
    // the next hourly run follows anyway
    queued: { minutes: 60, retries: 2 },
    every: 60,
  },
  'on-job': {
    // adding items of every kind to a new journal needs the permissions of all of them
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
      'organizations',
      'background',
      'journal',
    ],
    // the hourly run restarts whatever stays undone for longer
    queued: { minutes: 60, retries: 2 },
    summary:
      'runs background jobs: tidy, removal of mounts, ends of rotations, re-encryption, journals begun and ended, maps of organizations',
    timeout: bounds.JOB_MINUTES,
  },
  'on-pull': {
    uses: ['read', 'journal', 'apply', 'link', 'key-factory', 'authorities'],
    summary:
      'on a secondary, follows the primary; on a primary, makes other primaries of the set end their epochs',
    // a run takes a minute, and then finishes its current work
    timeout: 2,
    // the minimum of Lambda: it runs all the time, and mostly waits
    memory: 128,
    // the next run comes within a minute
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
    summary: 'runs the steps of operations, as their workflows name them',
    timeout: 15,
  },
  'on-attempt': {
    uses: ['read', 'ceremony', 'workflow'],
    summary: 'stores which executions wait for a ceremony of a DR operation token, or for its result',
    timeout: 1,
  },
  'on-drill': {
    uses: ['read', 'link', 'workflow', 'events'],
    summary: 'rehearses a planned switch and the way back, where a deployment has the setting for it',
    timeout: 15,
    // a drill that begins hours late, or twice, surprises operators
    queued: { minutes: 15, retries: 0 },
  },
  'on-journal': {
    uses: ['read', 'journal', 'workflow', 'link', 'events', 'authorities', 'role', 'background'],
    summary:
      'closes holes of the journal and refreshes its tree; restarts interrupted operations and re-encryption; starts rounds of organizations; sends events of role changes',
    timeout: 1,
    // the next minute's run repairs everything except the log line about a workflow's end
    queued: { minutes: 5, retries: 2 },
    every: 1,
    stream: { table: 'cluster', partitions: 'j#' },
  },
  'on-instance-event': {
    uses: ['read', 'ending'],
    summary: 'ends the tokens of an instance that is terminated',
    timeout: 1,
    // the daily round of on-account-facts finds what is lost after that
    queued: { minutes: 360, retries: 2 },
    setting: 'instanceEvents',
  },
  'on-account-facts': {
    // asks AWS, and may neither make tokens nor keys
    uses: ['read', 'ending', 'instances'],
    summary: 'asks EC2 about the instances with whose end tokens end, once a day and after a promotion',
    timeout: 15,
    // the next run continues
    queued: { minutes: 5, retries: 0 },
    every: 5,
    setting: 'instanceEvents',
  },
  'on-audit-entries': {
    uses: ['audit-log'],
    summary: 'carries audit entries from the logs of functions to the log group of the audit log',
    timeout: 1,
    withApi: true,
  },
} as const satisfies Record<string, WorkerDefinition>
