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
  tells: string
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
    from: 'any function, with the line of the request that asked',
    tells: `calls that ${service} refused because there are too many of them, those too that were repeated with success`,
    series: ONLY_WHEN_IT_HAPPENS,
  }) as const
const failures = (service: string) =>
  ({
    unit: 'Count',
    from: 'any function, with the line of the request that asked',
    tells: `calls to ${service} that came to nothing: no answer in time, a fault of the service, or our own request refused`,
    series: ONLY_WHEN_IT_HAPPENS,
  }) as const

/** One row for each metric. Lines, alarms, the dashboard, prices and docs/look-up/monitoring.md are made from it. */
export const metrics = {
  Logins: {
    unit: 'Count',
    dimensions: ['type', 'outcome', 'reason'],
    from: '`login`, with the line of each login; the mount stands in the line only',
    tells: 'logins by type, by what they came to, and by what that was for',
    series: [3, 13],
  },
  LoginLatency: {
    unit: 'Milliseconds',
    from: '`login`, with the line of each login',
    tells: 'how long logins take here, calls to AWS included',
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
    from: '`on-job`, with the line of a run of tidy that removed something',
    tells: 'entries that tidy has removed from the access list and the deny list',
    series: EVERY_HOUR,
  },
  TidyFailed: {
    unit: 'Count',
    from: '`on-job`, with the line of a run of tidy that could not remove something',
    tells: 'entries that tidy could not remove: the next round tries them again',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  HeartbeatAge: {
    unit: 'Seconds',
    from: '`on-journal`, each minute, in a set',
    tells:
      'on a secondary, how long the primary has been silent; on a primary, the secondary that has been silent longest',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Lag: {
    unit: 'Count',
    from: '`on-journal`, each minute, in a set',
    tells:
      'commits that a secondary has not applied, by the last heartbeat; on a primary, of the one that is furthest behind',
    series: EVERY_HOUR,
    idle: 'both',
  },
  Frontier: {
    unit: 'None',
    from: '`on-journal`, each minute, in a set',
    tells:
      'the position up to which nothing is missing: where it stands still while clients write, nothing is replicated',
    series: EVERY_HOUR,
    idle: 'both',
  },
  LinkRefusals: {
    unit: 'Count',
    from: '`link`, with the line of each call that it refuses',
    tells: 'calls of other clusters, or of strangers, that the link refused',
    series: ONLY_WHEN_IT_HAPPENS,
  },
  NotReady: {
    unit: 'Count',
    from: '`on-pull`, every ten minutes and after changes of role or contact, on a secondary',
    tells: '1: a promotion without force would be refused right now; 0: it would go through',
    series: EVERY_HOUR,
    idle: 'secondary',
  },
  LicenceDays: {
    unit: 'Count',
    from: '`on-tidy-schedule`, each hour, where there is a licence',
    tells: 'days until the licence ends; negative: it has ended',
    series: EVERY_HOUR,
    idle: 'both',
  },
  CertificateDays: {
    unit: 'Count',
    from: '`on-tidy-schedule`, each hour, where a mount has registered certificates',
    tells: 'days until the first registered certificate of a mount ends; keys are pinned, so logins go on',
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
export function embeddedMetrics(measures: Measures, namespace: string, now: number): Record<string, unknown> {
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
