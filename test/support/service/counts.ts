import { InvocationFault } from '../../../infra/local/lambda/environment.ts'
import type { HostObserver } from '../../../infra/local/lambda/lambdas.ts'
import { readResourcesIn } from '../../../infra/local/template/assembly.ts'
import { synthesiseTemplates } from '../../../infra/local/template/synth.ts'
import { TEST_PLACE } from '../iam/place.ts'
import { type FrontModel, frontSettings, type LocalFront, otherFrontIn } from './other-fronts.ts'

/** A data point of a CloudWatch metric. */
export interface MetricPoint {
  namespace: string
  metric: string
  dimensions: Readonly<Record<string, string>>
}

/** Receives each data point. */
type CountMetric = (point: MetricPoint) => void

const metricsOfFunction = (
  metric: 'Invocations' | 'Errors' | 'Throttles' | 'DeadLetterErrors',
  FunctionName: string,
): MetricPoint => ({ namespace: 'AWS/Lambda', metric, dimensions: { FunctionName } })

const metricOfQueue = (QueueName: string): MetricPoint => ({
  namespace: 'AWS/SQS',
  metric: 'ApproximateNumberOfMessagesVisible',
  dimensions: { QueueName },
})

const metricOfRule = (RuleName: string): MetricPoint => ({
  namespace: 'AWS/Events',
  metric: 'Invocations',
  dimensions: { RuleName },
})

/** An API in front of functions, with its id in metrics. */
type CountedFront = FrontModel | { id: string; kind: 'httpApi' }

/** Creates the data point of a 5xx answer. @param by whether the function or the front itself answered */
function metricOfFront({ id, ...front }: CountedFront, by: 'function' | 'front'): MetricPoint {
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

interface CountOptions {
  count: CountMetric
  /** reserved concurrency by folder: more requests are rejected. Absent: they wait */
  atOnce?: Readonly<Record<string, number>>
  /** takes an event that a function failed to process; @throws if the queue cannot be reached */
  deadLetter?: (queue: string) => void
}

/** Returns an observer of a host that counts what AWS would count. */
export async function counting(
  front: LocalFront,
  { count, atOnce = {}, deadLetter = () => undefined }: CountOptions,
): Promise<HostObserver> {
  const directory = await synthesiseTemplates({ legacySignatures: false, front: frontSettings[front] })
  const resources = readResourcesIn(directory, TEST_PLACE)
  const { ofType, nameOf } = resources
  const queues = new Map(
    ofType('AWS::Lambda::Function').map(({ stack, id, properties }) => {
      const { TargetArn } = (properties['DeadLetterConfig'] ?? {}) as { TargetArn?: string }
      return [nameOf(stack, id), TargetArn?.split(':').at(-1)]
    }),
  )
  const [rule] = ofType('AWS::Events::Rule').filter(one => one.properties['EventPattern'] !== undefined)
  const [api] = ofType('AWS::ApiGatewayV2::Api')
  if (!rule || !api) throw new Error('the templates have no rule for ends, or no API')
  const link: CountedFront = { kind: 'httpApi', id: nameOf(api.stack, api.id) }
  const fronts = { clients: otherFrontIn(resources) ?? link, link }
  /** running requests by function */
  const busy: Record<string, number> = {}
  return {
    around: async ({ folder, name }, invoke) => {
      const running = busy[name] ?? 0
      if (running >= (atOnce[folder] ?? Infinity)) {
        count(metricsOfFunction('Throttles', name))
        throw new InvocationFault('Rate Exceeded.', { type: 'TooManyRequestsException' })
      }
      count(metricsOfFunction('Invocations', name))
      busy[name] = running + 1
      try {
        return await invoke()
      } catch (error) {
        count(metricsOfFunction('Errors', name))
        throw error
      } finally {
        busy[name] = (busy[name] ?? 0) - 1
      }
    },
    onLost: ({ name }) => {
      const queue = queues.get(name)
      if (queue === undefined) return
      try {
        deadLetter(queue)
        count(metricOfQueue(queue))
      } catch {
        count(metricsOfFunction('DeadLetterErrors', name))
      }
    },
    onServerError: (which, by) => count(metricOfFront(fronts[which], by)),
    onFailedExecution: () => count(metricOfRule(nameOf(rule.stack, rule.id))),
  }
}
