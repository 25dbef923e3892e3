import * as v from 'valibot'
import { createRouteFinder } from '../../../infra/local/gateway/routes.ts'
import type { Front } from '../../../infra/local/gateway/shapes.ts'
import type { ImitatedFront } from '../../../infra/local/host/fronts.ts'
import {
  type ApiRoute,
  functionIn,
  functionUri,
  readAs,
} from '../../../infra/local/template/api-definitions.ts'
import type { AssemblyResources } from '../../../infra/local/template/assembly.ts'
import { balancerShape, restApiShape } from './front-shapes.ts'

/** Fronts by their name in the setting `front`. */
export const localFronts = ['httpApi', 'privateRestApi', 'loadBalancer'] as const
export type LocalFront = (typeof localFronts)[number]

const certificateArn = 'arn:aws:acm:us-east-1:111122223333:certificate/local'
const linkDomain = { name: 'link.local.example', certificateArn }

/** Settings of each front. Networks and names have no effect on one machine. */
export const frontSettings: Readonly<Record<LocalFront, object>> = {
  httpApi: {},
  privateRestApi: { front: { kind: 'privateRestApi', vpcEndpointIds: ['vpce-00000000'] }, linkDomain },
  loadBalancer: {
    front: {
      kind: 'loadBalancer',
      vpcId: 'vpc-00000000',
      subnetIds: ['subnet-00000000', 'subnet-00000001'],
      networks: ['127.0.0.0/8'],
    },
    domain: { name: 'local.example', certificateArn },
    linkDomain,
  },
}

/** A load balancer rule: expressions for whole paths. */
interface Rule {
  expressions: RegExp[]
  functionName: string
}

/** A front that `npm start` does not imitate. */
export type FrontModel = {
  /** its id in metrics */
  id: string
} /** paths are below the stage */ & (
  | { kind: 'restApi'; stage: string; routes: ApiRoute[] }
  /** rules in order, and the function for everything else */
  | { kind: 'alb'; rules: Rule[]; otherwise: string }
)

/** Returns the front of clients in the templates, unless it is an HTTP API. */
export const otherFrontIn = (resources: AssemblyResources): FrontModel | undefined =>
  restApi(resources) ?? balancer(resources)

/** Returns a front as the gateway imitates it. */
export function imitated(front: FrontModel): Front {
  if (front.kind === 'restApi') {
    const find = createRouteFinder(front.routes)
    // a REST API ignores a trailing slash (docs/look-up/unverified.md#final-slash)
    return {
      shape: restApiShape(front.stage),
      find: (method, path) => find(method, path.replace(/(?<=.)\/$/, '')),
    }
  }
  const { rules, otherwise } = front
  return {
    shape: balancerShape,
    find: (_method, path) =>
      rules.find(({ expressions }) => expressions.some(one => one.test(path)))?.functionName ?? otherwise,
  }
}

/** Returns the option of hosts that imitates a front; undefined for the HTTP API, which is their own. */
export const frontOption = (name: LocalFront): { front?: ImitatedFront } =>
  name === 'httpApi'
    ? {}
    : {
        front: {
          settings: frontSettings[name],
          read: resources => {
            const found = otherFrontIn(resources)
            if (!found) throw new Error(`the templates have no ${name}`)
            return imitated(found)
          },
        },
      }

/**
 * The part of a REST API's definition that this host supports. Its resource policy is ignored, because all callers
 * are on this machine.
 */
const restApiDefinition = v.strictObject({
  Name: v.string(),
  Body: v.strictObject({
    openapi: v.string(),
    info: v.unknown(),
    paths: v.record(
      v.string(),
      v.strictObject({
        'x-amazon-apigateway-any-method': v.strictObject({
          parameters: v.array(v.unknown()),
          responses: v.unknown(),
          'x-amazon-apigateway-integration': v.strictObject({
            type: v.literal('aws_proxy'),
            httpMethod: v.literal('POST'),
            uri: functionUri,
          }),
        }),
      }),
    ),
    // for verbs that this host never passes
    'x-amazon-apigateway-gateway-responses': v.unknown(),
  }),
  EndpointConfiguration: v.unknown(),
  Policy: v.unknown(),
  Mode: v.literal('overwrite'),
  FailOnWarnings: v.optional(v.boolean()),
})

/** Returns the routes of a REST API, whose paths are below its stage. */
const restApiRoutesIn = (properties: unknown): ApiRoute[] =>
  Object.entries(readAs(restApiDefinition, properties).Body.paths).map(
    ([path, { 'x-amazon-apigateway-any-method': served }]) => ({
      key: `ANY ${path}`,
      functionName: functionIn(served['x-amazon-apigateway-integration'].uri),
    }),
  )

function restApi({ ofType }: AssemblyResources): FrontModel | undefined {
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
  // this host sends and reads multi-value headers
  TargetGroupAttributes: v.tuple([
    v.strictObject({ Key: v.literal('lambda.multi_value_headers.enabled'), Value: v.literal('true') }),
  ]),
})

function balancer({ ofType, nameOf }: AssemblyResources): FrontModel | undefined {
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
