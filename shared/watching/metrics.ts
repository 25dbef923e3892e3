/** How CloudWatch names the units of our metrics. */
export type Unit = 'Count' | 'Milliseconds' | 'Seconds' | 'None'

/** Members of a line by whose values the series of a metric are told apart. */
export type Dimension = 'type' | 'outcome' | 'reason'

/** A number that a function writes into a line of its log, and of which CloudWatch makes a metric. */
export interface Metric {
  unit: Unit
  /** every combination of their values is a series, and each series is paid for; absent: there is one */
  dimensions?: readonly Dimension[]
  /** which function writes it, and when */
  from: string
  /** what it tells an operator */
  meaning: string
  /** series of a member of a pair in an hour of a usual month, and at most */
  series: readonly [usual: number, most: number]
  /** on which clusters it is written where no client calls */
  idle?: 'both' | 'secondary'
}

const ONLY_WHEN_IT_HAPPENS = [0, 1] as const
const EVERY_HOUR = [1, 1] as const

/** A service of AWS that logins ask, in its row's words. */
const refusals = (service: string) =>
  ({
    unit: 'Count',
    from: 'any function that calls it',
    meaning: `calls that ${service} throttled, including those that a retry completed`,
    series: ONLY_WHEN_IT_HAPPENS,
  }) as const
const failures = (service: string) =>
  ({
    unit: 'Count',
    from: 'any function that calls it',
    meaning: `calls to ${service} that timed out, failed, or were refused because of cloud-auth’s own permissions`,
    series: ONLY_WHEN_IT_HAPPENS,
  }) as const

/** One row for each metric. Lines, alarms, the dashboard, prices and docs/look-up/monitoring.md are made from it. */
export const metrics = {
  Logins: {
    unit: 'Count',
    dimensions: ['type', 'outcome', 'reason'],
    from: '`login`, for each login',
    meaning: 'logins by type, outcome and reason',
    series: [3, 13],
  },
  LoginLatency: {
    unit: 'Milliseconds',
    from: '`login`, for each login',
    meaning: 'duration of logins, including calls to AWS',
    series: EVERY_HOUR,
  },
  Ec2Throttles: refusals('EC2'),
  IamThrottles: refusals('IAM'),
  StsThrottles: refusals('STS'),
  Ec2Failures: failures('EC2'),
  IamFailures: failures('IAM'),
  StsFailures: failures('STS'),
  TidyRemoved: {
    unit: 'Count',
    from: '`on-job`, after a tidy run that removed entries',
    meaning: 'entries that tidy removed from access lists and deny lists',
    series: EVERY_HOUR,
  },
  TidyFailed: {
    unit: 'Count',
    from: '`on-job`, after a tidy run that failed to remove entries',
    meaning: 'entries that tidy could not remove; the next run tries again',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  HeartbeatAge: {
    unit: 'Seconds',
    from: '`on-journal`, each minute, in a set',
    meaning:
      'time since the last heartbeat: on a secondary of the primary, on a primary of the longest silent secondary',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Lag: {
    unit: 'Count',
    from: '`on-journal`, each minute, in a set',
    meaning:
      'commits that a secondary has not applied, as of the last heartbeat; on a primary the largest of all secondaries',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Frontier: {
    unit: 'None',
    from: '`on-journal`, each minute, in a set',
    meaning:
      'the position up to which no journal entry is missing; if it stops while clients write, replication has stopped',
    series: EVERY_HOUR,
    idle: 'both',
  },
  LinkRefusals: {
    unit: 'Count',
    from: '`link`, for each call that it refuses',
    meaning: 'calls of other clusters or strangers that the link refused',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  NotReady: {
    unit: 'Count',
    from: '`on-pull` of a secondary, every ten minutes and after changes of role or contact',
    meaning: '1 if a promotion without `force` would be refused now, else 0',
    series: EVERY_HOUR,
    idle: 'secondary',
  },
  LicenceDays: {
    unit: 'Count',
    from: '`on-tidy-schedule`, each hour, if there is a licence',
    meaning: 'days until the licence expires; negative afterwards',
    series: EVERY_HOUR,
    idle: 'both',
  },
  CertificateDays: {
    unit: 'Count',
    from: '`on-tidy-schedule`, each hour, if a mount has registered certificates',
    meaning: 'days until the first registered certificate of a mount expires',
    series: ONLY_WHEN_IT_HAPPENS,
  },
} as const satisfies Record<string, Metric>

export type MetricName = keyof typeof metrics

/** Numbers of one line. */
export type Measures = Partial<Record<MetricName, number>>

/** The row of a metric, with its optional columns. */
export const metricOf = (name: MetricName): Required<Omit<Metric, 'idle'>> => ({
  dimensions: [],
  ...metrics[name],
})

/** The namespace of a deployment's own metrics, which tells its deployments apart. */
export const metricNamespace = (stage: string): string => `cloud-auth/${stage}`

/** Metrics of a line that have the same dimensions. */
interface Directive {
  Namespace: string
  Dimensions: (readonly Dimension[])[]
  Metrics: { Name: MetricName; Unit: string }[]
}

/**
 * What makes metrics of a line of JSON: the numbers, and what tells CloudWatch that they are such. Values of dimensions
 * are members of the line itself.
 * @param namespace empty: nobody makes metrics of lines here
 * @param now epoch milliseconds
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function toEmbeddedMetrics(
  measures: Measures,
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
