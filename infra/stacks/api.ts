import { CfnOutput, Duration, Fn, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { type CfnApi, CfnStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { groups } from '../../shared/endpoints/all.ts'
import { LONGEST_REQUEST } from '../../shared/front/web-function.ts'
import { linkPath } from '../../shared/link/routes.ts'
import { DEFAULT_ROUTE, HttpApi, pathsOfGroup } from '../constructs/api-definition.ts'
import { AuditCarrier } from '../constructs/audit-carrier.ts'
import { functionLogs, GroupFunction, type Surroundings } from '../constructs/group-function.ts'
import { storageOf } from '../constructs/storage.ts'
import { WebLogins } from '../constructs/web-logins.ts'
import type { Settings } from '../settings.ts'
import { addAlarm, LineAlarms } from '../watching/alarm.ts'
import { Dashboard } from '../watching/dashboard.ts'
import { SavedQueries } from '../watching/saved-queries.ts'
import type { DataStack } from './data.ts'

/** A login has calls to the provider inside; everything else may take longer, but less than the gateway waits. */
const TIMEOUT = { login: Duration.seconds(LONGEST_REQUEST), others: Duration.seconds(25) }

/** Routes that have a throttle of their own: other clusters of a set, and those that ask whether this one serves. */
const LINK_ROUTE = `${linkPath}{proxy+}`
const HEALTH_ROUTE = '/v1/sys/health'

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
  /** of all functions that leave audit entries, those of the workers too: what is carried is carried from here */
  readonly logs: LogGroup

  constructor(scope: Construct, id: string, { settings, store, bundles }: ApiProps) {
    super(scope, id)
    const audit = new LogGroup(this, 'Audit', {
      retention: settings.auditRetentionDays,
      removalPolicy: settings.deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    })
    this.surroundings = { settings, store: storageOf(this, settings, store), audit, bundles }
    this.logs = functionLogs(this, this.surroundings)
    const carrier = new AuditCarrier(this, 'AuditCarrier', { ...this.surroundings, source: this.logs })
    this.functions = [
      ...groups.map(group => this.group(group.name)),
      this.group('link'),
      this.group('fallback'),
    ]
    const { api } = new HttpApi(this, 'Http', { settings, served: this.served() })
    // nobody reaches the API before its audit entries are carried
    this.stage(api, settings).addResourceDependency(carrier.subscription)
    const address = settings.apiAddress ?? api.attrApiEndpoint
    new CfnOutput(this, 'Address', { value: `${address}/v1`, description: 'base URL of the API' })
    if (settings.webLogins) this.webLogins(settings.webLogins, api, store)
    const init = this.invoked('InitFunction', 'init', 'invoke once to initialise')
    const root = this.invoked('GenerateRootFunction', 'generate-root', 'invoke when the root token is lost')
    this.invoked('CeremonyFunction', 'ceremony', 'invoke where ceremonies are strict')
    this.invoked('RekeyFunction', 'rekey', 'invoke where ceremonies are strict, to make another recovery key')
    this.alarms(api, { init, root, carrier: carrier.lambda.functionName })
    new SavedQueries(this, 'Queries', { settings, functions: this.logs, audit })
    if (settings.dashboard) new Dashboard(this, 'Dashboard', { settings, api: api.ref })
  }

  private webLogins(web: NonNullable<Settings['webLogins']>, api: CfnApi, owner: Stack): void {
    const { distribution } = new WebLogins(this, 'WebLogins', {
      ...this.surroundings,
      web,
      owner,
      logs: this.logs,
      apiHost: Fn.parseDomainName(api.attrApiEndpoint),
    })
    new CfnOutput(this, 'Distribution', {
      value: distribution.distributionDomainName,
      description: 'where the name in apiAddress has to lead',
    })
  }

  /** Of what callers see, and of what functions write down. */
  private alarms(api: CfnApi, { init, root, carrier }: Record<'init' | 'root' | 'carrier', string>): void {
    const { settings } = this.surroundings
    new LineAlarms(this, 'LogAlarms', { settings, logs: this.logs })
    // who may invoke these has been authorised by IAM: strangers cannot
    addAlarm(this, 'Initialised', settings, [init])
    addAlarm(this, 'RootGeneration', settings, [root])
    addAlarm(this, 'ServerErrors', settings, [api.ref])
    addAlarm(this, 'Throttled', settings, [this.named('login'), this.named('link'), carrier])
  }

  private named = (name: string): string =>
    this.functions.find(one => one.node.id === name)?.lambda.functionName ?? ''

  /** Puts out the name of a function that may be invoked directly. */
  private invoked(output: string, name: string, description: string): string {
    const value = this.named(name)
    new CfnOutput(this, output, { value, description })
    return value
  }

  private group(name: string): GroupFunction {
    const timeout = name === 'login' ? TIMEOUT.login : TIMEOUT.others
    return new GroupFunction(this, name, { ...this.surroundings, name, logs: this.logs, timeout })
  }

  /** Functions that the gateway calls, each with its paths. */
  private served() {
    const paths = [...groups.map(pathsOfGroup), [LINK_ROUTE], [DEFAULT_ROUTE]]
    return this.functions
      .map(({ node, called }, index) => ({ name: node.id, lambda: called, paths: paths[index] ?? [] }))
      .filter(one => one.paths.length > 0)
  }

  // Paths are left out of the access log: they may hold role tags.
  private stage(api: CfnApi, settings: Settings): CfnStage {
    // Below this prefix the gateway needs no room in the account's policy for log deliveries, which is small. The
    // name is fixed, so a group that outlived its stack would be in the way of the next one.
    const log = new LogGroup(this, 'AccessLog', {
      logGroupName: `/aws/vendedlogs/cloud-auth/${settings.stage}/access`,
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
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
    // as templates spell it: the CDK takes settings of routes as they are
    const limit = ({ rate, burst }: Settings['throttle']) => ({
      ThrottlingRateLimit: rate,
      ThrottlingBurstLimit: burst,
    })
    return new CfnStage(this, 'Stage', {
      apiId: api.ref,
      stageName: '$default',
      autoDeploy: true,
      accessLogSettings: {
        destinationArn: log.logGroupArn,
        format: JSON.stringify(Object.fromEntries(fields.map(field => [field, `$context.${field}`]))),
      },
      defaultRouteSettings: {
        throttlingRateLimit: settings.throttle.rate,
        throttlingBurstLimit: settings.throttle.burst,
      },
      // route keys as the import makes them: what strangers send elsewhere takes nothing from these
      routeSettings: {
        [`ANY ${LINK_ROUTE}`]: limit(settings.linkThrottle),
        [`ANY ${HEALTH_ROUTE}`]: limit(settings.healthThrottle),
      },
    })
  }
}
