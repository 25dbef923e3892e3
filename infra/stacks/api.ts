import { CfnOutput, Duration, Fn, Stack, type StackProps } from 'aws-cdk-lib'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import type { Construct } from 'constructs'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { bounds } from '../../shared/values/bounds.ts'
import { createLogGroupEncryption } from '../constructs/account.ts'
import { AuditCarrier } from '../constructs/audit-carrier.ts'
import { type ApiFronts, createApiFronts } from '../constructs/fronts/fronts.ts'
import {
  apiPathsOfGroup,
  DEFAULT_ROUTE,
  LINK_ROUTE,
  type ServedFunction,
} from '../constructs/fronts/served.ts'
import {
  createFunctionLogGroup,
  type FunctionContext,
  GroupFunction,
  logRemovalPolicy,
} from '../constructs/group-function.ts'
import { resolveStorage } from '../constructs/storage.ts'
import { WebLogins } from '../constructs/web-logins.ts'
import type { Settings } from '../settings.ts'
import { addMetricAlarm, LineAlarms } from '../watching/alarm.ts'
import { Dashboard } from '../watching/dashboard.ts'
import { SavedQueries } from '../watching/saved-queries.ts'
import type { DataStack } from './data.ts'

/**
 * Timeout per kind of function. During a login the function calls AWS, which may take long. All other
 * functions must answer before API Gateway gives up.
 */
const TIMEOUT = {
  login: Duration.seconds(bounds.LOGIN_SECONDS),
  others: Duration.seconds(bounds.REQUEST_SECONDS),
}

interface ApiProps extends StackProps {
  settings: Settings
  store: DataStack
  /** directory of the bundles */
  bundles: string
}

/** The API stack: one Lambda function for each group of endpoints, and the API in front of them. */
export class ApiStack extends Stack {
  readonly functionContext: FunctionContext
  readonly functions: GroupFunction[]
  /**
   * log group of all functions that print audit entries, including workers. The audit carrier reads this log
   * group.
   */
  readonly logs: LogGroup

  constructor(scope: Construct, id: string, { settings, store, bundles, ...props }: ApiProps) {
    super(scope, id, props)
    const audit = new LogGroup(this, 'Audit', {
      ...createLogGroupEncryption(this, settings),
      retention: settings.auditRetentionDays,
      removalPolicy: logRemovalPolicy(settings),
    })
    this.functionContext = { settings, store: resolveStorage(this, settings, store), audit, bundles }
    this.logs = createFunctionLogGroup(this, this.functionContext)
    const carrier = new AuditCarrier(this, 'AuditCarrier', { ...this.functionContext, source: this.logs })
    this.functions = [
      ...endpointGroups.map(group => this.group(group.name)),
      this.group('link'),
      this.group('fallback'),
    ]
    const fronts = createApiFronts(this, settings, this.served(), this.logs)
    // clients reach the API only after the subscription exists that carries its audit entries
    for (const door of fronts.entrances) door.addResourceDependency(carrier.subscription)
    new CfnOutput(this, 'Address', { value: `${fronts.address}/v1`, description: 'base URL of the API' })
    if (settings.webLogins) this.webLogins(settings.webLogins, fronts, store)
    this.invoked('InitFunction', 'init', 'invoke this function once to initialise the cluster')
    this.invoked('GenerateRootFunction', 'generate-root', 'invoke this function if the root token is lost')
    this.invoked(
      'CeremonyFunction',
      'ceremony',
      'invoke this function for DR operation tokens if strictCeremony is set',
    )
    this.invoked(
      'RekeyFunction',
      'rekey',
      'invoke this function for a new recovery key if strictCeremony is set',
    )
    this.alarms(fronts, carrier.lambda.functionName)
    new SavedQueries(this, 'Queries', { settings, functions: this.logs, audit })
    if (settings.dashboard) new Dashboard(this, 'Dashboard', { settings, fronts })
    if (settings.parameterPrefix !== undefined) this.parameters(settings.parameterPrefix)
  }

  /** Writes every output of the stack to an SSM parameter, for deployments that do not read stack outputs. */
  private parameters(prefix: string): void {
    for (const output of this.node.children)
      if (output instanceof CfnOutput)
        new StringParameter(this, `${output.node.id} parameter`, {
          parameterName: `${prefix}/${output.node.id}`,
          stringValue: String(output.value),
          ...(output.description === undefined ? {} : { description: output.description }),
        })
  }

  private webLogins(
    web: NonNullable<Settings['webLogins']>,
    { endpoint }: Pick<ApiFronts, 'endpoint'>,
    owner: Stack,
  ): void {
    if (endpoint === undefined)
      throw new Error(
        'webLogins needs the public HTTP API, because its distribution supports no other API as origin',
      )
    const { distribution } = new WebLogins(this, 'WebLogins', {
      ...this.functionContext,
      web,
      owner,
      logs: this.logs,
      apiHost: Fn.parseDomainName(endpoint),
    })
    new CfnOutput(this, 'Distribution', {
      value: distribution.distributionDomainName,
      description: 'point the DNS name of apiAddress to this domain',
    })
  }

  /** Adds the alarms on responses to clients and on log lines of the functions. */
  private alarms({ errors }: ApiFronts, carrier: string): void {
    const { settings } = this.functionContext
    new LineAlarms(this, 'LogAlarms', { settings, logs: this.logs })
    // IAM authorises every invocation of these two functions, so strangers cannot trigger the alarm
    addMetricAlarm(this, 'Initialised', settings, [this.named('init')])
    addMetricAlarm(this, 'RootGeneration', settings, [this.named('generate-root')])
    for (const { alarm, series } of errors) addMetricAlarm(this, alarm, settings, [series])
    addMetricAlarm(this, 'Throttled', settings, [this.named('login'), this.named('link'), carrier])
  }

  private function = (name: string): GroupFunction | undefined =>
    this.functions.find(one => one.node.id === name)

  private named = (name: string): string => this.function(name)?.lambda.functionName ?? ''

  /** Outputs the name of a function that operators invoke directly. */
  private invoked(output: string, name: string, description: string): void {
    new CfnOutput(this, output, { value: this.function(name)?.called.functionName ?? '', description })
  }

  private group(name: string): GroupFunction {
    const timeout = name === 'login' ? TIMEOUT.login : TIMEOUT.others
    return new GroupFunction(this, name, { ...this.functionContext, name, logs: this.logs, timeout })
  }

  /** Returns the functions that API Gateway calls, each with its paths. */
  private served(): ServedFunction[] {
    const paths = [...endpointGroups.map(apiPathsOfGroup), [LINK_ROUTE], [DEFAULT_ROUTE]]
    return this.functions
      .map(({ node, called }, index) => ({ name: node.id, lambda: called, paths: paths[index] ?? [] }))
      .filter(one => one.paths.length > 0)
  }
}
