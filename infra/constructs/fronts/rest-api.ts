import { createHash } from 'node:crypto'
import { Stack } from 'aws-cdk-lib'
import { CfnDeployment, CfnRestApi, CfnStage } from 'aws-cdk-lib/aws-apigateway'
import { Construct } from 'constructs'
import { version } from '../../checkout.ts'
import type { Settings } from '../../settings.ts'
import { STAGE, toRestPaths } from './rest-paths.ts'
import {
  DEFAULT_ROUTE,
  invocationArn,
  pathParameters,
  permitInvocation,
  type ServedFunction,
} from './served.ts'

interface PrivateRestApiProps {
  settings: Settings
  served: readonly ServedFunction[]
  vpcEndpointIds: readonly string[]
}

/** A REST API that interface endpoints of VPCs reach, and nobody else: one definition, as that of the HTTP API. */
export class PrivateRestApi extends Construct {
  readonly api: CfnRestApi
  readonly stage: CfnStage
  private readonly endpoint: string

  constructor(scope: Construct, id: string, { settings, served, vpcEndpointIds }: PrivateRestApiProps) {
    super(scope, id)
    this.endpoint = vpcEndpointIds[0] ?? ''
    const body = definitionOf(settings.clusterName, served, one => invocationArn(this, one.lambda))
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
      stageName: STAGE,
      deploymentId: this.deployment(body, vpcEndpointIds).ref,
      methodSettings: [
        { httpMethod: '*', resourcePath: '/*', throttlingRateLimit: rate, throttlingBurstLimit: burst },
      ],
    })
  }

  // A deployment is a copy of what was there when it was made: another definition, or policy, needs another one.
  private deployment(body: object, endpoints: readonly string[]): CfnDeployment {
    const content = JSON.stringify(Stack.of(this).resolve([body, endpoints]))
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
    return new CfnDeployment(this, `Deployment${hash}`, { restApiId: this.api.ref })
  }

  /** The name by which the first of the endpoints leads here, whatever its VPC makes of names. */
  get address(): string {
    const { region, urlSuffix } = Stack.of(this)
    return `https://${this.api.ref}-${this.endpoint}.execute-api.${region}.${urlSuffix}`
  }
}

/** What no statement allows is refused: who does not come through one of the endpoints. */
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

/** The gateway says "Missing Authentication Token" of verbs that it does not know, which no client understands. */
const ODD_VERB = {
  statusCode: 405,
  responseTemplates: {
    'application/json': JSON.stringify({
      errors: ['unsupported operation: no such verb passes this front end; listings are GET with ?list=true'],
    }),
  },
}

/** In OpenAPI 3.0; where no path leads, the fallback answers. */
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
            parameters: pathParameters(path),
            responses: { default: { description: 'what the function answers' } },
            'x-amazon-apigateway-integration': { type: 'aws_proxy', httpMethod: 'POST', uri: uriOf(one) },
          },
        },
      ]),
    ),
    'x-amazon-apigateway-gateway-responses': { MISSING_AUTHENTICATION_TOKEN: ODD_VERB },
  }
}

const FALLBACK = [`/${STAGE}/`, `/${STAGE}/{proxy+}`]
