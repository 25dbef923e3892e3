import { cpSync } from 'node:fs'
import {
  ArnFormat,
  AssetHashType,
  DockerImage,
  type Duration,
  RemovalPolicy,
  Stack,
  Token,
} from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  ApplicationLogLevel,
  Architecture,
  Code,
  type IFunction,
  Function as LambdaFunction,
  LoggingFormat,
  type RecursiveLoop,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { defined } from '../../shared/values/defined.ts'
import { metricNamespace } from '../../shared/watching/metrics.ts'
import { type Worker, workers } from '../../shared/workers/workers.ts'
import { workflows } from '../../shared/workers/workflows.ts'
import { AUTHORITIES_FILE, shipAuthorities } from '../build/authorities.ts'
import { functionTable, ownVariables, tablesClientOf } from '../build/function-table.ts'
import { usesOfFunction } from '../build/uses.ts'
import { version } from '../checkout.ts'
import type { Settings } from '../settings.ts'
import { allowThroughService, importCustomerKey, logGroupEncryption } from './account.ts'
import { Canary, LIVE } from './canary.ts'
import { buildStatements } from './grants.ts'
import type { Storage } from './storage.ts'

/** What all Lambdas of a cluster share. */
export interface FunctionContext {
  settings: Settings
  store: Storage
  /** log group of the audit log */
  audit: LogGroup
  /** directory of the bundles, one folder for each function */
  bundles: string
}

/** A function among what all share. */
export interface FunctionProps extends FunctionContext {
  /** folder in functions/ */
  name: string
}

export interface GroupFunctionProps extends FunctionProps {
  timeout: Duration
  /** log group that it shares with others; absent: one of its own */
  logs?: LogGroup
  recursiveLoop?: RecursiveLoop
}

/** Lambdas whose names are fixed, so that others can name them without depending on them. */
const FIXED = { 'on-job': 'job', 'on-pull': 'pull' } as const

const nameOf = ({ stage }: Settings, folder: keyof typeof FIXED): string =>
  `cloud-auth-${stage}-${FIXED[folder]}`

/** The same, as others call it. */
const calledName = (settings: Settings, folder: keyof typeof FIXED): string =>
  settings.canary ? `${nameOf(settings, folder)}:${LIVE}` : nameOf(settings, folder)

const isFixed = (folder: string): folder is keyof typeof FIXED => folder in FIXED

/** Name of a workflow's state machine: fixed, so that functions can name it without depending on it. */
export const workflowName = ({ stage }: Settings, workflow: string): string =>
  `cloud-auth-${stage}-${workflow}`

/** ARN of a workflow's state machine; of the empty name: what all of them begin with. */
const workflowArn = (scope: Construct, settings: Settings, workflow: string): string =>
  Stack.of(scope).formatArn({
    service: 'states',
    resource: 'stateMachine',
    resourceName: workflowName(settings, workflow),
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  })

const workflowsOf = (name: string): readonly string[] => {
  const own = functionTable[name]?.workflow
  return own === undefined ? Object.keys(workflows) : [own]
}

/** What becomes of a log group when its stack goes: one of a creation that has failed does not stay. */
export const logRemovalPolicy = ({
  deletionProtection,
}: Pick<Settings, 'deletionProtection'>): RemovalPolicy =>
  deletionProtection ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY

/** A log group of functions. */
export const createFunctionLogs = (
  scope: Construct,
  { settings }: Pick<FunctionContext, 'settings'>,
): LogGroup =>
  new LogGroup(scope, 'Logs', {
    ...logGroupEncryption(scope, settings),
    retention: settings.logRetentionDays,
    removalPolicy: logRemovalPolicy(settings),
  })

/** Bytes of all variables of a Lambda, and what a name that CloudFormation makes may come to. */
const ENVIRONMENT = { largest: 4096, unknown: 256 }

/** @throws Error when Lambda would refuse these variables, at the end of a long deployment */
function checked(name: string, variables: Readonly<Record<string, string>>): Record<string, string> {
  const sizes = Object.entries(variables).map(([variable, value]) => ({
    variable,
    bytes:
      Buffer.byteLength(variable) +
      (Token.isUnresolved(value) ? ENVIRONMENT.unknown : Buffer.byteLength(value)),
  }))
  const bytes = sizes.reduce((sum, one) => sum + one.bytes, 0)
  if (bytes <= ENVIRONMENT.largest) return variables
  const [longest] = sizes.sort((a, b) => b.bytes - a.bytes)
  throw new Error(
    `the settings are not usable:\n  the environment of ${name} comes to ${bytes} bytes, and Lambda takes ${ENVIRONMENT.largest}; the longest variable is ${longest?.variable}`,
  )
}

/** Environments kept free for a function, by the settings; undefined: it shares those that nobody has reserved. */
const reservedFor = (name: string, { loginConcurrency, drConcurrency }: Settings): number | undefined =>
  name === 'login'
    ? loginConcurrency
    : (drConcurrency as Record<string, number | undefined> | undefined)?.[name]

/** Whether the gateway calls a function: workers answer nobody from outside. */
const isCalled = (name: string): boolean => !Object.hasOwn(workers, name)

/** Whether callers reach a function around the proxy that stands before the clients' front. */
const hasOwnDomain = (name: string, settings: Settings): boolean => {
  const domain = functionTable[name]?.domain
  return domain !== undefined && settings[domain] !== undefined
}

/** What a worker does not need more of, MB, unless the settings say otherwise. */
const workerMemory = (name: string): number | undefined => (workers as Record<string, Worker>)[name]?.memory

const ships = (name: string, { caBundles }: Settings): boolean =>
  caBundles !== undefined && usesOfFunction(name).includes('authorities')

/** The bundle of a function, with certificates of authorities for those that read them. */
function codeOf({ name, settings, bundles }: GroupFunctionProps): Code {
  const bundle = `${bundles}/${name}`
  if (!ships(name, settings)) return Code.fromAsset(bundle)
  const tryBundle = (output: string): boolean => {
    cpSync(bundle, output, { recursive: true })
    shipAuthorities(settings.caBundles ?? '', `${output}/${AUTHORITIES_FILE}`)
    return true
  }
  // made here: the image is never asked for
  const image = DockerImage.fromRegistry('none')
  return Code.fromAsset(bundle, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: { image, local: { tryBundle } },
  })
}

/** A Lambda with its log group, and a role that may do what its uses need and nothing else. */
export class GroupFunction extends Construct {
  readonly lambda: LambdaFunction
  /** what callers call: the function, or its alias where environments are started beforehand, or versions have canaries */
  readonly called: IFunction
  readonly logs: LogGroup

  constructor(scope: Construct, id: string, props: GroupFunctionProps) {
    super(scope, id)
    const { name, settings } = props
    this.logs = props.logs ?? createFunctionLogs(this, props)
    this.lambda = new LambdaFunction(
      this,
      'Function',
      defined({
        runtime: Runtime.NODEJS_24_X,
        architecture: Architecture.ARM_64,
        handler: 'index.handler',
        code: codeOf(props),
        description: `cloud-auth: ${name}`,
        memorySize: settings.functionMemory[name] ?? workerMemory(name) ?? settings.memory,
        timeout: props.timeout,
        role: createFunctionRole(this, props, [this.logs]),
        logGroup: this.logs,
        // an object given to the console is one event, as JSON: entries of the audit log leave by it
        loggingFormat: LoggingFormat.JSON,
        applicationLogLevelV2: ApplicationLogLevel.INFO,
        environment: buildFunctionVariables(this, props),
        functionName: isFixed(name) ? nameOf(settings, name) : undefined,
        reservedConcurrentExecutions: reservedFor(name, settings),
        recursiveLoop: props.recursiveLoop,
        // Lambda's own: nothing of it is in the code
        tracing: settings.tracing ? Tracing.ACTIVE : undefined,
      }),
    )
    this.called = this.aliased(name, settings) ?? this.lambda
  }

  /** The alias that is called in the place of the function, where the settings want one. */
  private aliased(name: string, settings: Settings): IFunction | undefined {
    const { canary, loginProvisionedConcurrency } = settings
    const provisioned = name === 'login' ? loginProvisionedConcurrency : undefined
    if (!canary && provisioned === undefined) return undefined
    const alias = this.lambda.addAlias(
      canary ? LIVE : 'provisioned',
      defined({ provisionedConcurrentExecutions: provisioned }),
    )
    if (canary) Canary.of(this, settings, canary).move(name, this.lambda, alias)
    return alias as IFunction
  }
}

/** What DynamoDB does with a customer's key in the name of who reaches a table. */
const OF_TABLES = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey*', 'kms:ReEncrypt*']

/**
 * The role of a function, which may do what its uses need and nothing else.
 * @param logs log groups that it writes to
 */
export function createFunctionRole(
  scope: Construct,
  { name, settings, store, audit }: FunctionProps,
  logs: readonly LogGroup[],
): Role {
  const arnOf = (folder: keyof typeof FIXED) =>
    Stack.of(scope).formatArn({
      service: 'lambda',
      resource: 'function',
      resourceName: calledName(settings, folder),
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
  const role = new Role(scope, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
  const reached = {
    store,
    assumableRoleArns: settings.assumableRoleArns,
    workerArn: arnOf('on-job'),
    pullArn: arnOf('on-pull'),
    workflows: workflowsOf(name).map(one => workflowArn(scope, settings, one)),
    auditArn: audit.logGroupArn,
    busArn: Stack.of(scope).formatArn({ service: 'events', resource: 'event-bus', resourceName: 'default' }),
  }
  for (const statement of buildStatements(usesOfFunction(name), reached)) role.addToPolicy(statement)
  const tablesKey = importCustomerKey(scope, settings, 'tables')
  if (tablesKey) role.addToPolicy(allowThroughService(scope, 'dynamodb', tablesKey, OF_TABLES))
  role.addToPolicy(
    new PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: logs.map(one => one.logGroupArn),
    }),
  )
  return role
}

/**
 * The variables of a function. The API names the functions, so none of them can be told its address: without the setting,
 * requests say it.
 */
export function buildFunctionVariables(
  scope: Construct,
  { name, settings, store, audit }: FunctionProps,
): Record<string, string> {
  const uses = usesOfFunction(name)
  const variables: Record<string, string> = defined({
    API_ADDRESS: settings.apiAddress,
    LINK_ADDRESS: settings.linkAddress,
    ...(settings.proxy && isCalled(name) && !hasOwnDomain(name, settings)
      ? { PROXY_SECRETS: settings.proxy.secretHashes.join(','), PROXY_HOPS: String(settings.proxy.hops) }
      : {}),
    API_VERSION: settings.apiVersion,
    ASSUMABLE_ROLES: settings.assumableRoleArns.join(','),
    CLUSTER_NAME: settings.clusterName,
    CLUSTER_TABLE: store.cluster.tableName,
    DATA_TABLE: store.data.tableName,
    METRIC_NAMESPACE: metricNamespace(settings.stage),
    NODE_OPTIONS: '--enable-source-maps',
    LEGACY_SIGNATURES: String(settings.legacySignatures),
    SERVICE_VERSION: version,
    WORKER_FUNCTION: uses.includes('background') ? calledName(settings, 'on-job') : undefined,
    PULL_FUNCTION: uses.includes('pull') ? calledName(settings, 'on-pull') : undefined,
    WORKFLOWS: uses.includes('workflow') ? workflowArn(scope, settings, '') : undefined,
    ...ownVariables(name, settings),
    TABLES_CLIENT: tablesClientOf(name, settings.tablesClient),
    CEREMONY_TABLE: uses.some(use => ['ceremony', 'rekey', 'operation-token'].includes(use))
      ? store.ceremony.tableName
      : undefined,
    AUTHORITIES: ships(name, settings) ? AUTHORITIES_FILE : undefined,
    KEY_ARN: uses.includes('key-factory') ? store.key.keyArn : undefined,
    ...(uses.includes('licence') && settings.license && settings.licensePublicKey
      ? { LICENSE: settings.license, LICENSE_PUBLIC_KEY: settings.licensePublicKey }
      : {}),
    AUDIT_GROUP: uses.includes('audit-log') ? audit.logGroupName : undefined,
  })
  return checked(name, variables)
}
