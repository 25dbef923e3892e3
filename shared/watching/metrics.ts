/** The units of our metrics, as CloudWatch spells them. */
export type MetricUnit = 'Count' | 'Milliseconds' | 'Seconds' | 'None'

/** Fields of a log line that are dimensions of a metric. */
export type MetricDimension = 'type' | 'outcome' | 'reason'

/** A number in a log line of which CloudWatch makes a metric. */
export interface MetricDefinition {
  unit: MetricUnit
  /** each combination of values is a series, and CloudWatch bills each series; absent: one series */
  dimensions?: readonly MetricDimension[]
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
  unit: 'Count',
  from: 'any function that calls AWS',
  meaning:
    'EC2, IAM, STS or the host of an issuer throttled this many calls, including calls that a retry completed',
  series: ONLY_WHEN_IT_HAPPENS,
} as const
const failures = {
  unit: 'Count',
  from: 'any function that calls AWS',
  meaning:
    'This many calls to EC2, IAM, STS or the host of an issuer timed out, failed, or were refused because of cloud-auth’s own permissions',
  series: ONLY_WHEN_IT_HAPPENS,
} as const

/** One row for each metric. Lines, alarms, the dashboard, prices and docs/look-up/monitoring.md are made from it. */
export const metrics = {
  Logins: {
    unit: 'Count',
    dimensions: ['type', 'outcome', 'reason'],
    from: '`login`, for each login',
    meaning: 'logins by type, outcome and reason',
    series: [3, 18],
  },
  LoginLatency: {
    unit: 'Milliseconds',
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
    unit: 'Count',
    from: '`login`, `explain`',
    meaning: 'An issuer of tokens spoke for another account, or its keys could not be refreshed in time',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  TidyRemoved: {
    unit: 'Count',
    from: '`on-job`, after tidy removed entries',
    meaning: 'Tidy removed this many entries from access lists and deny lists',
    series: EVERY_HOUR,
  },
  TidyFailed: {
    unit: 'Count',
    from: '`on-job`, after tidy failed',
    meaning: 'Tidy could not remove this many entries, and its next run tries again',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  HeartbeatAge: {
    unit: 'Seconds',
    from: '`on-journal`, each minute, in a set',
    meaning:
      'The value is the seconds since the last heartbeat, on a primary of the longest silent secondary',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Lag: {
    unit: 'Count',
    from: '`on-journal`, each minute, in a set',
    meaning:
      'A secondary has not applied this many commits, as of the last heartbeat; a primary writes the largest number of all secondaries',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Frontier: {
    unit: 'None',
    from: '`on-journal`, each minute, in a set',
    meaning:
      'No journal entry is missing up to this position. If the position stops while clients write, replication has stopped',
    series: EVERY_HOUR,
    idle: 'both',
  },
  LinkRefusals: {
    unit: 'Count',
    from: '`link`, for each refused call',
    meaning: 'The link refused this many calls of other clusters or strangers',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  NotReady: {
    unit: 'Count',
    from: '`on-pull` of a secondary, every ten minutes',
    meaning: 'The value is 1 if a promotion without `force` would be refused now, else 0',
    series: EVERY_HOUR,
    idle: 'secondary',
  },
  LicenceDays: {
    unit: 'Count',
    from: '`on-tidy-schedule`, hourly, with a licence',
    meaning: 'days until the licence expires',
    series: EVERY_HOUR,
    idle: 'both',
  },
  CertificateDays: {
    unit: 'Count',
    from: '`on-tidy-schedule`, hourly, with registered certificates',
    meaning: 'A mount’s first registered certificate expires in this many days',
    series: ONLY_WHEN_IT_HAPPENS,
  },
} as const satisfies Record<string, MetricDefinition>

export type MetricName = keyof typeof metrics

/** The metrics of one log line. */
export type MetricMeasures = Partial<Record<MetricName, number>>

/** Returns the row of a metric with defaults for its optional columns. */
export const metricOf = (name: MetricName): Required<Omit<MetricDefinition, 'idle'>> => ({
  dimensions: [],
  ...metrics[name],
})

/** Returns the CloudWatch namespace of a deployment's metrics. */
export const metricNamespace = (stage: string): string => `cloud-auth/${stage}`

/** Metrics of one log line with the same dimensions. */
interface Directive {
  Namespace: string
  Dimensions: (readonly MetricDimension[])[]
  Metrics: { Name: MetricName; Unit: string }[]
}

/**
 * Returns the fields that make CloudWatch extract metrics from a JSON log line: the numbers, and the directives that
 * declare them. The values of dimensions are fields of the line itself.
 * @param namespace empty: this environment writes no metrics
 * @param now epoch milliseconds
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function toEmbeddedMetrics(
  measures: MetricMeasures,
  namespace: string,
  now: number,
): Record<string, unknown> {
  const names = Object.keys(measures) as MetricName[]
  if (names.length === 0 || namespace === '') return {}
  const directives = new Map<string, Directive>()
  for (const Name of names) {
    const { dimensions, unit: Unit } = metricOf(Name)
    const key = dimensions.join()
    const known = directives.get(key) ?? { Namespace: namespace, Dimensions: [dimensions], Metrics: [] }
    known.Metrics.push({ Name, Unit })
    directives.set(key, known)
  }
  return { ...measures, _aws: { Timestamp: now, CloudWatchMetrics: [...directives.values()] } }
}
