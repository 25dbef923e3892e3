import { createHash } from 'node:crypto'
import { Stack } from 'aws-cdk-lib'
import { CfnDeployment, CfnRestApi, CfnStage } from 'aws-cdk-lib/aws-apigateway'
import { Construct } from 'constructs'
import { version } from '../../checkout.ts'
import type { Settings } from '../../settings.ts'
import { REST_API_STAGE, toRestPaths } from './rest-paths.ts'
import {
  DEFAULT_ROUTE,
  invocationArnOf,
  permitInvocation,
  requestParametersOf,
  type ServedFunction,
} from './served.ts'

interface PrivateRestApiProps {
  settings: Settings
  served: readonly ServedFunction[]
  vpcEndpointIds: readonly string[]
}

/**
 * A private REST API, reachable only through interface endpoints of VPCs. CloudFormation imports it as one
 * OpenAPI definition, like the HTTP API.
 */
export class PrivateRestApi extends Construct {
  readonly api: CfnRestApi
  readonly stage: CfnStage
  private readonly endpoint: string

  constructor(scope: Construct, id: string, { settings, served, vpcEndpointIds }: PrivateRestApiProps) {
    super(scope, id)
    this.endpoint = vpcEndpointIds[0] ?? ''
    const body = definitionOf(settings.clusterName, served, one => invocationArnOf(this, one.lambda))
    this.api = new CfnRestApi(this, 'Api', {
      name: settings.clusterName,
      body,
      failOnWarnings: !settings.passImportWarnings,
      mode: 'overwrite',
      endpointConfiguration: { types: ['PRIVATE'], vpcEndpointIds: [...vpcEndpointIds] },
      policy: policyFor(vpcEndpointIds),
    })
    for (const one of served) permitInvocation(this, one, this.api.ref)
    const { rate, burst } = settings.throttle
    this.stage = new CfnStage(this, 'Stage', {
      restApiId: this.api.ref,
      stageName: REST_API_STAGE,
      deploymentId: this.deployment(body, vpcEndpointIds).ref,
      methodSettings: [
        { httpMethod: '*', resourcePath: '/*', throttlingRateLimit: rate, throttlingBurstLimit: burst },
      ],
    })
  }

  // A deployment is a snapshot of the API, so a changed definition or policy needs a new deployment, under a new id.
  private deployment(body: object, endpoints: readonly string[]): CfnDeployment {
    const content = JSON.stringify(Stack.of(this).resolve([body, endpoints]))
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
    return new CfnDeployment(this, `Deployment${hash}`, { restApiId: this.api.ref })
  }

  /**
   * The address of the private API through the first VPC endpoint. This address resolves with or without
   * private DNS in the VPC.
   */
  get address(): string {
    const { region, urlSuffix } = Stack.of(this)
    return `https://${this.api.ref}-${this.endpoint}.execute-api.${region}.${urlSuffix}`
  }
}

/**
 * Allows invocations through the named VPC endpoints. A resource policy denies everything that no statement allows.
 */
const policyFor = (vpcEndpointIds: readonly string[]) => ({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: '*',
      Action: 'execute-api:Invoke',
      Resource: 'execute-api:/*',
      Condition: { StringEquals: { 'aws:SourceVpce': [...vpcEndpointIds] } },
    },
  ],
})

/**
 * Response for verbs that API Gateway does not know, because API Gateway's text "Missing Authentication
 * Token" would mislead clients.
 */
const ODD_VERB = {
  statusCode: 405,
  responseTemplates: {
    'application/json': JSON.stringify({
      errors: [
        'unsupported operation: this front end does not accept this HTTP method; send listings as GET with ?list=true',
      ],
    }),
  },
}

/** Returns the API's definition as OpenAPI 3.0. Paths without a route lead to the fallback function. */
const definitionOf = (
  title: string,
  served: readonly ServedFunction[],
  uriOf: (one: ServedFunction) => string,
) => {
  const routes = served.flatMap(one =>
    one.paths.flatMap(path => (path === DEFAULT_ROUTE ? FALLBACK : [path]).map(at => [at, one] as const)),
  )
  return {
    openapi: '3.0.1',
    info: { title, version },
    paths: Object.fromEntries(
      [...toRestPaths(routes)].map(([path, one]) => [
        path,
        {
          'x-amazon-apigateway-any-method': {
            parameters: requestParametersOf(path),
            responses: { default: { description: 'what the function answers' } },
            'x-amazon-apigateway-integration': { type: 'aws_proxy', httpMethod: 'POST', uri: uriOf(one) },
          },
        },
      ]),
    ),
    'x-amazon-apigateway-gateway-responses': { MISSING_AUTHENTICATION_TOKEN: ODD_VERB },
  }
}

const FALLBACK = [`/${REST_API_STAGE}/`, `/${REST_API_STAGE}/{proxy+}`]
