import * as v from 'valibot'
import { linkPath } from '../../../shared/link/routes.ts'
import { type ApiRoute, httpApiRoutesIn, restApiRoutesIn } from './api-definitions.ts'
import type { ResolvedCfnResource } from './resolve.ts'

/** A load balancer rule: expressions for whole paths. */
interface Rule {
  expressions: RegExp[]
  functionName: string
}

/** The API in front of the functions. */
export type FrontModel = {
  /** id of the front in metrics */
  id: string
} & (
  | { kind: 'httpApi'; routes: ApiRoute[] }
  /** a REST API, whose paths are below the stage */
  | { kind: 'restApi'; stage: string; routes: ApiRoute[] }
  /** a load balancer: its rules in order, and the function for all other requests */
  | { kind: 'alb'; rules: Rule[]; otherwise: string }
)

/** The resources of the templates. */
interface Resources {
  ofType(type: string): ResolvedCfnResource[]
  nameOf(stack: string, id: string): string
}

/** Returns the front end for clients and, if separate, the front end for other clusters. */
export function findFrontsIn(resources: Resources): { clients: FrontModel; link?: FrontModel } {
  const apis = resources.ofType('AWS::ApiGatewayV2::Api').map(
    ({ stack, id, properties }): FrontModel => ({
      id: resources.nameOf(stack, id),
      kind: 'httpApi',
      routes: httpApiRoutesIn(properties),
    }),
  )
  const clients = restApi(resources) ?? balancer(resources) ?? apis.find(isForClients)
  const link = apis.find(one => one !== clients && !isForClients(one))
  return { clients: clients ?? { id: '', kind: 'httpApi', routes: [] }, ...(link && { link }) }
}

/** Reports whether a front end serves clients. An API for other clusters has only the link's route. */
const isForClients = (front: FrontModel): boolean =>
  front.kind !== 'httpApi' || front.routes.some(({ key }) => !key.startsWith(`ANY ${linkPath}`))

function restApi({ ofType }: Resources): FrontModel | undefined {
  const [api] = ofType('AWS::ApiGateway::RestApi')
  const [stage] = ofType('AWS::ApiGateway::Stage')
  if (!api || !stage) return undefined
  return {
    id: String(api.properties['Name']),
    kind: 'restApi',
    stage: String(stage.properties['StageName']),
    routes: restApiRoutesIn(api.properties),
  }
}

const forward = v.tuple([v.strictObject({ Type: v.literal('forward'), TargetGroupArn: v.string() })])
const listener = v.looseObject({ DefaultActions: forward })
const rule = v.strictObject({
  ListenerArn: v.string(),
  Priority: v.number(),
  Conditions: v.tuple([
    v.strictObject({
      Field: v.literal('path-pattern'),
      PathPatternConfig: v.strictObject({ RegexValues: v.array(v.string()) }),
    }),
  ]),
  Actions: forward,
})
const targets = v.strictObject({
  TargetType: v.literal('lambda'),
  Targets: v.tuple([v.strictObject({ Id: v.string() })]),
  // this host sends and reads multi-value headers only
  TargetGroupAttributes: v.tuple([
    v.strictObject({ Key: v.literal('lambda.multi_value_headers.enabled'), Value: v.literal('true') }),
  ]),
})

function balancer({ ofType, nameOf }: Resources): FrontModel | undefined {
  const [listens] = ofType('AWS::ElasticLoadBalancingV2::Listener')
  const [balances] = ofType('AWS::ElasticLoadBalancingV2::LoadBalancer')
  if (!listens || !balances) return undefined
  const functions = new Map(
    ofType('AWS::ElasticLoadBalancingV2::TargetGroup').map(({ stack, id, properties }) => [
      nameOf(stack, id),
      v.parse(targets, properties).Targets[0].Id.split(':').at(-1) ?? '',
    ]),
  )
  const led = ([{ TargetGroupArn }]: v.InferOutput<typeof forward>) => functions.get(TargetGroupArn) ?? ''
  const rules = ofType('AWS::ElasticLoadBalancingV2::ListenerRule')
    .map(({ properties }) => v.parse(rule, properties))
    .toSorted((a, b) => a.Priority - b.Priority)
    .map(({ Conditions: [{ PathPatternConfig }], Actions }) => ({
      expressions: PathPatternConfig.RegexValues.map(one => new RegExp(one)),
      functionName: led(Actions),
    }))
  const id = nameOf(balances.stack, balances.id)
  return { id, kind: 'alb', rules, otherwise: led(v.parse(listener, listens.properties).DefaultActions) }
}
