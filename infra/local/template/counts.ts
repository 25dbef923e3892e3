import type { FrontModel } from './fronts.ts'

/** A data point of a CloudWatch metric. */
export interface MetricPoint {
  namespace: string
  metric: string
  dimensions: Readonly<Record<string, string>>
}

/** Receives each data point of a metric. */
export type CountMetric = (point: MetricPoint) => void

export const metricsOfFunction = (
  metric: 'Invocations' | 'Errors' | 'Throttles' | 'DeadLetterErrors',
  FunctionName: string,
): MetricPoint => ({ namespace: 'AWS/Lambda', metric, dimensions: { FunctionName } })

export const metricOfQueue = (QueueName: string): MetricPoint => ({
  namespace: 'AWS/SQS',
  metric: 'ApproximateNumberOfMessagesVisible',
  dimensions: { QueueName },
})

export const metricOfRule = (RuleName: string): MetricPoint => ({
  namespace: 'AWS/Events',
  metric: 'Invocations',
  dimensions: { RuleName },
})

/** Creates the data point of a 5xx answer. @param by whether the function or the front end itself answered */
export function metricOfFront({ id, ...front }: FrontModel, by: 'function' | 'front'): MetricPoint {
  if (front.kind === 'alb')
    return {
      namespace: 'AWS/ApplicationELB',
      metric: by === 'function' ? 'HTTPCode_Target_5XX_Count' : 'HTTPCode_ELB_5XX_Count',
      dimensions: { LoadBalancer: id },
    }
  return front.kind === 'httpApi'
    ? { namespace: 'AWS/ApiGateway', metric: '5xx', dimensions: { ApiId: id } }
    : { namespace: 'AWS/ApiGateway', metric: '5XXError', dimensions: { ApiName: id, Stage: front.stage } }
}
