import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { groups } from '../../shared/endpoints/all.ts'
import { alarm, alarmOfFunctions } from '../constructs/alarm.ts'
import { AuditCarrier } from '../constructs/audit-carrier.ts'
import { type Fronts, frontsOf } from '../constructs/fronts/fronts.ts'
import { DEFAULT_ROUTE, LINK_ROUTE, pathsOfGroup, type ServedFunction } from '../constructs/fronts/served.ts'
import { functionLogs, GroupFunction, type Surroundings } from '../constructs/group-function.ts'
import { LogAlarms } from '../constructs/log-alarms.ts'
import { storageOf } from '../constructs/storage.ts'
import type { Settings } from '../settings.ts'
import type { DataStack } from './data.ts'

/** A login has calls to the provider inside; everything else may take longer, but less than the gateway waits. */
const TIMEOUT = { login: Duration.seconds(15), others: Duration.seconds(25) }

/** Answers of 5xx within five minutes that nobody is called for. */
const MOST_ERRORS = 10

interface ApiProps {
  settings: Settings
  store: DataStack
  /** directory of the bundles */
  bundles: string
}

/** One Lambda for each group of endpoints, and what stands before them. */
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
    const fronts = frontsOf(this, settings, this.served())
    // nobody reaches the API before its audit entries are carried
    for (const door of fronts.doors) door.addResourceDependency(carrier.subscription)
    new CfnOutput(this, 'Address', { value: `${fronts.address}/v1`, description: 'base URL of the API' })
    this.invoked('InitFunction', 'init', 'invoke once to initialise')
    const root = this.invoked('GenerateRootFunction', 'generate-root', 'invoke when the root token is lost')
    this.invoked('CeremonyFunction', 'ceremony', 'invoke where ceremonies are strict')
    this.invoked('RekeyFunction', 'rekey', 'invoke where ceremonies are strict, to make another recovery key')
    this.alarms(fronts, root, carrier.lambda.functionName)
  }

  /** Of what callers see, and of what functions write down. */
  private alarms({ errors }: Fronts, root: string, carrier: string): void {
    const { settings } = this.surroundings
    new LogAlarms(this, 'LogAlarms', { settings, logs: this.logs })
    // who may invoke it has been authorised by IAM: strangers cannot
    alarm(this, 'RootGeneration', settings.alarmActionArns, {
      alarmDescription: 'Somebody makes, or tries to make, a root token from recovery shares',
      namespace: 'AWS/Lambda',
      metricName: 'Invocations',
      dimensions: [{ name: 'FunctionName', value: root }],
    })
    for (const { alarm: name, ...metric } of errors)
      alarm(this, name, settings.alarmActionArns, {
        alarmDescription: 'The API answers with 5xx: the log lines of those requests name the causes',
        ...metric,
        above: MOST_ERRORS,
        of: [2, 3],
      })
    alarmOfFunctions(this, 'Throttled', settings.alarmActionArns, {
      alarmDescription:
        'Lambda refuses to run logins, the link, or the carrier of the audit log: no environment is free for them',
      metricName: 'Throttles',
      functions: [...['login', 'link'].map(name => this.named(name)), carrier],
    })
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
  private served(): ServedFunction[] {
    const paths = [...groups.map(pathsOfGroup), [LINK_ROUTE], [DEFAULT_ROUTE]]
    return this.functions
      .map(({ node, lambda }, index) => ({ name: node.id, lambda, paths: paths[index] ?? [] }))
      .filter(one => one.paths.length > 0)
  }
}
