import type { MetricName } from '../../shared/watching/metrics.ts'

/** The description of a metric for operators. Functions load no descriptions. */
export interface MetricDescription {
  /** the function that writes it, and when */
  from: string
  /** what an operator learns from it */
  meaning: string
  /** number of series that one member of a pair writes in an hour */
  series: readonly [usual: number, most: number]
  /** where it is written even without any client request */
  idle?: 'both' | 'secondary'
}

const ONLY_WHEN_IT_HAPPENS = [0, 1] as const
const EVERY_HOUR = [1, 1] as const

const throttles = {
  from: 'any function that calls AWS',
  meaning:
    'EC2, IAM, STS or the host of an issuer throttled this many calls, including calls that a retry completed',
  series: ONLY_WHEN_IT_HAPPENS,
} as const
const failures = {
  from: 'any function that calls AWS',
  meaning:
    'This many calls to EC2, IAM, STS or the host of an issuer timed out, failed, or were refused because of cloud-auth’s own permissions',
  series: ONLY_WHEN_IT_HAPPENS,
} as const

/** One row for each metric. Prices and docs/look-up/monitoring.md are made from it. */
export const metricDescriptions: Readonly<Record<MetricName, MetricDescription>> = {
  Logins: {
    from: '`login`, for each login',
    meaning: 'logins by type, outcome and reason',
    series: [3, 18],
  },
  LoginLatency: {
    from: '`login`, for each login',
    meaning: 'duration of logins in milliseconds, including AWS calls',
    series: EVERY_HOUR,
  },
  Ec2Throttles: throttles,
  IamThrottles: throttles,
  StsThrottles: throttles,
  Ec2Failures: failures,
  IamFailures: failures,
  StsFailures: failures,
  OidcThrottles: throttles,
  OidcFailures: failures,
  IssuerFaults: {
    from: '`login`, `explain`, `on-journal`',
    meaning:
      'An issuer of tokens spoke for another account, its keys could not be refreshed in time, or the map of an organization is too old',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  TidyRemoved: {
    from: '`on-job`, after tidy removed entries',
    meaning: 'Tidy removed this many entries from access lists and deny lists',
    series: EVERY_HOUR,
  },
  TidyFailed: {
    from: '`on-job`, after tidy failed',
    meaning: 'Tidy could not remove this many entries, and its next run tries again',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  HeartbeatAge: {
    from: '`on-journal`, each minute, in a set',
    meaning:
      'The value is the seconds since the last heartbeat, on a primary of the longest silent secondary',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Lag: {
    from: '`on-journal`, each minute, in a set',
    meaning:
      'A secondary has not applied this many commits, as of the last heartbeat; a primary writes the largest number of all secondaries',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Frontier: {
    from: '`on-journal`, each minute, in a set',
    meaning:
      'No journal entry is missing up to this position. If the position stops while clients write, replication has stopped',
    series: EVERY_HOUR,
    idle: 'both',
  },
  LinkRefusals: {
    from: '`link`, for each refused call',
    meaning: 'The link refused this many calls of other clusters or strangers',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  NotReady: {
    from: '`on-pull` of a secondary, every ten minutes',
    meaning: 'The value is 1 if a promotion without `force` would be refused now, else 0',
    series: EVERY_HOUR,
    idle: 'secondary',
  },
  LicenceDays: {
    from: '`on-tidy-schedule`, hourly, with a licence',
    meaning: 'days until the licence expires',
    series: EVERY_HOUR,
    idle: 'both',
  },
  CertificateDays: {
    from: '`on-tidy-schedule`, hourly, with registered certificates',
    meaning: 'A mount’s first registered certificate expires in this many days',
    series: ONLY_WHEN_IT_HAPPENS,
  },
}
