import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { CfnApi, CfnStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { groups } from '../../shared/api/endpoints/all.ts'
import { GroupFunction, type Surroundings } from '../constructs/group-function.ts'
import { Routes, routeKeysOf } from '../constructs/routes.ts'
import type { Settings } from '../settings.ts'
import type { DataStack } from './data.ts'

/** A login has calls to the provider inside; everything else may take longer, but less than the gateway waits. */
const TIMEOUT = { login: Duration.seconds(15), others: Duration.seconds(25) }

interface ApiProps {
  settings: Settings
  store: DataStack
  /** directory of the bundles */
  bundles: string
}

/** The HTTP API, and one Lambda for each group of endpoints. */
export class ApiStack extends Stack {
  readonly surroundings: Surroundings
  readonly functions: GroupFunction[]

  constructor(scope: Construct, id: string, { settings, store, bundles }: ApiProps) {
    super(scope, id)
    const api = new CfnApi(this, 'Api', { name: settings.clusterName, protocolType: 'HTTP' })
    this.stage(api, settings)
    const audit = new LogGroup(this, 'Audit', {
      retention: settings.auditRetentionDays,
      removalPolicy: settings.deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    })
    const apiAddress = settings.apiAddress ?? api.attrApiEndpoint
    this.surroundings = { settings, store, audit, apiAddress, bundles }
    this.functions = groups.map(group => {
      const made = this.group(group.name)
      const keys = routeKeysOf(group)
      if (keys.length > 0) new Routes(this, `${group.name} routes`, { api, lambda: made.lambda, keys })
      return made
    })
    const fallback = this.group('fallback')
    new Routes(this, 'fallback routes', { api, lambda: fallback.lambda, keys: ['$default'] })
    this.functions.push(fallback)
    new CfnOutput(this, 'Address', { value: `${apiAddress}/v1`, description: 'base URL of the API' })
    const init = this.functions[groups.findIndex(group => group.name === 'init')]
    new CfnOutput(this, 'InitFunction', {
      value: init?.lambda.functionName ?? '',
      description: 'invoke once to initialise',
    })
  }

  private group(name: string): GroupFunction {
    const { settings } = this.surroundings
    const login = name === 'login'
    return new GroupFunction(this, name, {
      ...this.surroundings,
      name,
      timeout: login ? TIMEOUT.login : TIMEOUT.others,
      ...(login && settings.loginConcurrency !== undefined
        ? { reservedConcurrency: settings.loginConcurrency }
        : {}),
    })
  }

  // Paths are left out of the access log: they may hold role tags (auth-behaviour T-36).
  private stage(api: CfnApi, settings: Settings): void {
    const log = new LogGroup(this, 'AccessLog', {
      retention: settings.logRetentionDays,
      removalPolicy: settings.deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    })
    const fields = [
      'requestId',
      'identity.sourceIp',
      'requestTime',
      'httpMethod',
      'routeKey',
      'status',
      'responseLatency',
    ]
    const { throttle } = settings
    new CfnStage(this, 'Stage', {
      apiId: api.ref,
      stageName: '$default',
      autoDeploy: true,
      accessLogSettings: {
        destinationArn: log.logGroupArn,
        format: JSON.stringify(Object.fromEntries(fields.map(field => [field, `$context.${field}`]))),
      },
      ...(throttle
        ? {
            defaultRouteSettings: {
              throttlingRateLimit: throttle.rate,
              throttlingBurstLimit: throttle.burst,
            },
          }
        : {}),
    })
  }
}
