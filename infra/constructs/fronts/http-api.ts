import { RemovalPolicy } from 'aws-cdk-lib'
import { CfnApi, CfnStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { defined } from '../../../shared/values/defined.ts'
import { version } from '../../checkout.ts'
import type { Settings } from '../../settings.ts'
import { logGroupEncryption } from '../account.ts'
import {
  DEFAULT_ROUTE,
  type InvokedFunction,
  invocationArn,
  pathParameters,
  permitInvocation,
  type ServedFunction,
} from './served.ts'

type Throttle = Settings['throttle']

interface HttpApiProps {
  settings: Settings
  /** title of the API */
  name: string
  served: readonly ServedFunction[]
  /** the only address that is left, where the one that API Gateway gives is closed */
  closedFor: string | undefined
  /** last part of the access log's name */
  log: string
  throttle: Throttle
  /** of single routes: what strangers send elsewhere takes nothing from these */
  throttles?: Readonly<Record<string, Throttle>>
}

/**
 * An HTTP API as one definition that is imported whole: a resource for each route would be a call each to a
 * control plane that takes a few in a second. It names the functions, so no function may name it.
 */
export class HttpApi extends Construct {
  readonly api: CfnApi
  readonly stage: CfnStage

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id)
    const { served, settings } = props
    this.api = new CfnApi(scope, 'Api', {
      body: definitionOf(props, lambda => invocationArn(this, lambda)),
      failOnWarnings: !settings.passImportWarnings,
    })
    for (const one of served) permitInvocation(this, one, this.api.ref)
    this.stage = stageOf(scope, this.api, props)
  }
}

const FIELDS = [
  'requestId',
  'identity.sourceIp',
  'requestTime',
  'httpMethod',
  'routeKey',
  'status',
  'responseLatency',
]

// as templates spell it: the CDK takes settings of routes as they are
const limit = ({ rate, burst }: Throttle) => ({ ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst })

// Paths are left out of the access log: they may hold role tags.
function stageOf(
  scope: Construct,
  api: CfnApi,
  { settings, throttle, throttles = {}, log: name }: HttpApiProps,
) {
  // Below this prefix the gateway needs no room in the account's policy for log deliveries, which is small. The
  // name is fixed, so a group that outlived its stack would be in the way of the next one.
  const log = new LogGroup(scope, 'AccessLog', {
    logGroupName: `/aws/vendedlogs/cloud-auth/${settings.stage}/${name}`,
    ...logGroupEncryption(scope, settings),
    retention: settings.logRetentionDays,
    removalPolicy: RemovalPolicy.DESTROY,
  })
  const routes = Object.entries(throttles).map(([path, one]) => [`ANY ${path}`, limit(one)])
  return new CfnStage(
    scope,
    'Stage',
    defined({
      apiId: api.ref,
      stageName: '$default',
      autoDeploy: true,
      accessLogSettings: {
        destinationArn: log.logGroupArn,
        format: JSON.stringify(Object.fromEntries(FIELDS.map(field => [field, `$context.${field}`]))),
      },
      defaultRouteSettings: { throttlingRateLimit: throttle.rate, throttlingBurstLimit: throttle.burst },
      routeSettings: routes.length > 0 ? Object.fromEntries(routes) : undefined,
    }),
  )
}

/**
 * The definition in OpenAPI 3.0 with the gateway's extensions: one integration for each Lambda, which all its
 * paths share. The verb is left to us: what we answer to a wrong one is part of the interface.
 */
const definitionOf = (
  { name: title, served, closedFor }: HttpApiProps,
  uriOf: (lambda: InvokedFunction) => string,
) =>
  defined({
    openapi: '3.0.1',
    info: { title, version },
    // an import reads this member of a server, and complains of one without address
    servers: closedFor
      ? [
          {
            url: closedFor,
            'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true },
          },
        ]
      : undefined,
    paths: Object.fromEntries(
      served.flatMap(({ name, paths }) => paths.map(path => [path, pathItem(name, path)] as const)),
    ),
    components: {
      'x-amazon-apigateway-integrations': Object.fromEntries(
        served.map(({ name, lambda }) => [
          name,
          { type: 'aws_proxy', httpMethod: 'POST', payloadFormatVersion: '2.0', uri: uriOf(lambda) },
        ]),
      ),
    },
  })

const pathItem = (integration: string, path: string) => {
  const parameters = pathParameters(path)
  return {
    'x-amazon-apigateway-any-method': defined({
      isDefaultRoute: path === DEFAULT_ROUTE || undefined,
      parameters: parameters.length > 0 ? parameters : undefined,
      responses: { default: { description: 'what the function answers' } },
      'x-amazon-apigateway-integration': {
        $ref: `#/components/x-amazon-apigateway-integrations/${integration}`,
      },
    }),
  }
}
