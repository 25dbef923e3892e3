import type { FrontModel } from './fronts.ts'

/** Something that AWS counts of what it runs: a point of a metric of CloudWatch. */
export interface MetricPoint {
  namespace: string
  metric: string
  dimensions: Readonly<Record<string, string>>
}

/** Told of each point. */
export type Count = (point: MetricPoint) => void

export const ofFunction = (
  metric: 'Invocations' | 'Errors' | 'Throttles' | 'DeadLetterErrors',
  FunctionName: string,
): MetricPoint => ({ namespace: 'AWS/Lambda', metric, dimensions: { FunctionName } })

export const ofQueue = (QueueName: string): MetricPoint => ({
  namespace: 'AWS/SQS',
  metric: 'ApproximateNumberOfMessagesVisible',
  dimensions: { QueueName },
})

export const ofRule = (RuleName: string): MetricPoint => ({
  namespace: 'AWS/Events',
  metric: 'Invocations',
  dimensions: { RuleName },
})

/** An answer of 5xx. @param by who said so: the function, or the front itself */
export function ofFront({ id, ...front }: FrontModel, by: 'function' | 'front'): MetricPoint {
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
