/** The units of our metrics, as CloudWatch spells them. */
export type MetricUnit = 'Count' | 'Milliseconds' | 'Seconds' | 'None'

/** Fields of a log line that are dimensions of a metric. */
export type MetricDimension = 'type' | 'outcome' | 'reason'

/** A number in a log line of which CloudWatch makes a metric. */
export interface MetricDefinition {
  unit: MetricUnit
  /** each combination of values is a series, and CloudWatch bills each series; absent: one series */
  dimensions?: readonly MetricDimension[]
}

/**
 * One row for each metric. Lines, alarms and the dashboard are made from it. `infra/watching/metric-descriptions.ts`
 * describes the metrics.
 */
export const metrics = {
  Logins: { unit: 'Count', dimensions: ['type', 'outcome', 'reason'] },
  LoginLatency: { unit: 'Milliseconds' },
  Ec2Throttles: { unit: 'Count' },
  IamThrottles: { unit: 'Count' },
  StsThrottles: { unit: 'Count' },
  Ec2Failures: { unit: 'Count' },
  IamFailures: { unit: 'Count' },
  StsFailures: { unit: 'Count' },
  OidcThrottles: { unit: 'Count' },
  OidcFailures: { unit: 'Count' },
  IssuerFaults: { unit: 'Count' },
  TidyRemoved: { unit: 'Count' },
  TidyFailed: { unit: 'Count' },
  HeartbeatAge: { unit: 'Seconds' },
  Lag: { unit: 'Count' },
  Frontier: { unit: 'None' },
  LinkRefusals: { unit: 'Count' },
  NotReady: { unit: 'Count' },
  LicenceDays: { unit: 'Count' },
  CertificateDays: { unit: 'Count' },
} as const satisfies Record<string, MetricDefinition>

export type MetricName = keyof typeof metrics

/** The metrics of one log line. */
export type MetricMeasures = Partial<Record<MetricName, number>>

/** Returns the row of a metric with defaults for its optional columns. */
export const metricOf = (name: MetricName): Required<MetricDefinition> => ({
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
