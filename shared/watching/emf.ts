import { type Dimension, type Measures, type MetricName, metricOf } from './metrics.ts'

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
