import { RemovalPolicy } from 'aws-cdk-lib'
import { CfnApi, CfnStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { defined } from '../../../shared/values/defined.ts'
import { version } from '../../checkout.ts'
import type { Settings } from '../../settings.ts'
import { createLogGroupEncryption } from '../account.ts'
import {
  DEFAULT_ROUTE,
  type InvokedFunction,
  invocationArnOf,
  permitInvocation,
  requestParametersOf,
  type ServedFunction,
} from './served.ts'

type Throttle = Settings['throttle']

interface HttpApiProps {
  settings: Settings
  /** title of the API */
  name: string
  served: readonly ServedFunction[]
  /** the only open address, if the default endpoint is closed */
  closedFor: string | undefined
  /** last part of the access log's name */
  log: string
  throttle: Throttle
  /** throttles of single routes, so that traffic on other routes cannot use up the quota of these routes */
  throttles?: Readonly<Record<string, Throttle>>
}

/**
 * An HTTP API that is imported as one OpenAPI definition. With a CloudFormation resource for each route, a
 * deployment would make one call per route to a control plane that accepts a few calls a second. The API
 * references the functions, so no function may reference the API.
 * @see docs/look-up/unverified.md#import
 */
export class HttpApi extends Construct {
  readonly api: CfnApi
  readonly stage: CfnStage

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id)
    const { served, settings } = props
    this.api = new CfnApi(scope, 'Api', {
      body: definitionOf(props, lambda => invocationArnOf(this, lambda)),
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

// Uses CloudFormation's property names for throttles, because the CDK does not convert route settings.
const limit = ({ rate, burst }: Throttle) => ({ ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst })

// The access log omits paths, because a path may contain a role tag.
function stageOf(
  scope: Construct,
  api: CfnApi,
  { settings, throttle, throttles = {}, log: name }: HttpApiProps,
) {
  // Log groups with the prefix `/aws/vendedlogs/` need no entry in the account's size-limited log delivery policy.
  // The log group's name is fixed, so a log group that survived its stack would block the next deployment.
  const log = new LogGroup(scope, 'AccessLog', {
    logGroupName: `/aws/vendedlogs/cloud-auth/${settings.stage}/${name}`,
    ...createLogGroupEncryption(scope, settings),
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
 * Returns the API's definition as OpenAPI 3.0 with API Gateway's extensions. All paths of a Lambda function
 * share one integration. Requests with any verb reach the function, because the function's error for a wrong
 * verb is part of the interface.
 */
const definitionOf = (
  { name: title, served, closedFor }: HttpApiProps,
  uriOf: (lambda: InvokedFunction) => string,
) =>
  defined({
    openapi: '3.0.1',
    info: { title, version },
    // API Gateway reads this extension on a server, and warns about a server without an address
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
  const parameters = requestParametersOf(path)
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
