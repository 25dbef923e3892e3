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
import { type WorkerDefinition, workerDefinitions } from '../../shared/workers/workers.ts'
import { workflowDefinitions } from '../../shared/workers/workflows.ts'
import { AUTHORITIES_FILE, shipAuthorities } from '../build/authorities.ts'
import { buildVariablesOfFunction, chooseTablesClientModule, functionTable } from '../build/function-table.ts'
import { declaredUsesOfFunction } from '../build/uses.ts'
import { version } from '../checkout.ts'
import type { Settings } from '../settings.ts'
import { allowKeyThroughService, createLogGroupEncryption, importCustomerKey } from './account.ts'
import { Canary, LIVE_ALIAS_NAME } from './canary.ts'
import { buildPolicyStatements } from './grants.ts'
import type { StorageResources } from './storage.ts'

/** The properties that all Lambda functions of a cluster share. */
export interface FunctionContext {
  settings: Settings
  store: StorageResources
  /** log group of the audit log */
  audit: LogGroup
  /** directory of the bundles, one folder for each function */
  bundles: string
}

/** A named function with the shared context. */
export interface FunctionProps extends FunctionContext {
  /** folder in functions/ */
  name: string
}

export interface GroupFunctionProps extends FunctionProps {
  timeout: Duration
  /** shared log group; absent: the function gets its own log group */
  logs?: LogGroup
  recursiveLoop?: RecursiveLoop
}

/**
 * Lambda functions with fixed names, so that other functions can reference them without a CloudFormation dependency.
 */
const FIXED = { 'on-job': 'job', 'on-pull': 'pull' } as const

const nameOf = ({ stage }: Settings, folder: keyof typeof FIXED): string =>
  `cloud-auth-${stage}-${FIXED[folder]}`

/** Returns the name by which other functions invoke a function: with the alias if canaries are on. */
const calledName = (settings: Settings, folder: keyof typeof FIXED): string =>
  settings.canary ? `${nameOf(settings, folder)}:${LIVE_ALIAS_NAME}` : nameOf(settings, folder)

const isFixed = (folder: string): folder is keyof typeof FIXED => folder in FIXED

/**
 * Returns the name of a workflow's state machine. The name is fixed, so that functions can reference the
 * state machine without a CloudFormation dependency.
 */
export const stageWorkflowName = ({ stage }: Settings, workflow: string): string =>
  `cloud-auth-${stage}-${workflow}`

/**
 * Returns the ARN of a workflow's state machine, or with an empty name the common prefix of all workflow
 * ARNs.
 */
const workflowArn = (scope: Construct, settings: Settings, workflow: string): string =>
  Stack.of(scope).formatArn({
    service: 'states',
    resource: 'stateMachine',
    resourceName: stageWorkflowName(settings, workflow),
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  })

const workflowsOf = (name: string): readonly string[] => {
  const own = functionTable[name]?.workflow
  return own === undefined ? Object.keys(workflowDefinitions) : [own]
}

/**
 * Returns the removal policy of a log group. CloudFormation deletes even a retained log group when the
 * creation of its stack fails.
 */
export const logRemovalPolicy = ({
  deletionProtection,
}: Pick<Settings, 'deletionProtection'>): RemovalPolicy =>
  deletionProtection ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY

/** Creates a log group for functions. */
export const createFunctionLogGroup = (
  scope: Construct,
  { settings }: Pick<FunctionContext, 'settings'>,
): LogGroup =>
  new LogGroup(scope, 'Logs', {
    ...createLogGroupEncryption(scope, settings),
    retention: settings.logRetentionDays,
    removalPolicy: logRemovalPolicy(settings),
  })

/** Bytes that Lambda allows for all variables, and the size assumed for a value that CloudFormation fills in. */
const ENVIRONMENT = { largest: 4096, unknown: 256 }

/**
 * Checks the size of a function's environment variables.
 * @throws Error if Lambda would reject the variables, because Lambda itself would reject them only at the end
 * of a long deployment
 */
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
    `the settings are not usable:\n  the environment of ${name} has ${bytes} bytes, and Lambda allows ${ENVIRONMENT.largest}; the longest variable is ${longest?.variable}`,
  )
}

/**
 * Returns the reserved concurrency of a function, or undefined if the function uses the account's unreserved
 * pool.
 */
const reservedFor = (name: string, { loginConcurrency, drConcurrency }: Settings): number | undefined =>
  name === 'login'
    ? loginConcurrency
    : (drConcurrency as Record<string, number | undefined> | undefined)?.[name]

/** Reports whether the API calls a function. The API never calls workers. */
const isCalled = (name: string): boolean => !Object.hasOwn(workerDefinitions, name)

/** Reports whether callers reach a function past the proxy in front of the clients' API. */
const hasOwnDomain = (name: string, settings: Settings): boolean => {
  const domain = functionTable[name]?.domain
  return domain !== undefined && settings[domain] !== undefined
}

/**
 * Returns a worker's memory in MB, unless the settings override it. Returns undefined if the worker has no
 * value of its own.
 */
const workerMemory = (name: string): number | undefined =>
  (workerDefinitions as Record<string, WorkerDefinition>)[name]?.memory

const ships = (name: string, { caBundles }: Settings): boolean =>
  caBundles !== undefined && declaredUsesOfFunction(name).includes('authorities')

/** Returns the bundle of a function, with CA certificates for functions that read them. */
function codeOf({ name, settings, bundles }: GroupFunctionProps): Code {
  const bundle = `${bundles}/${name}`
  if (!ships(name, settings)) return Code.fromAsset(bundle)
  const tryBundle = (output: string): boolean => {
    cpSync(bundle, output, { recursive: true })
    shipAuthorities(settings.caBundles ?? '', `${output}/${AUTHORITIES_FILE}`)
    return true
  }
  // the CDK calls tryBundle and never uses the image
  const image = DockerImage.fromRegistry('none')
  return Code.fromAsset(bundle, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: { image, local: { tryBundle } },
  })
}

/** A Lambda function with its log group, and a role limited to its declared uses. */
export class GroupFunction extends Construct {
  readonly lambda: LambdaFunction
  /**
   * the target that callers invoke: the function, or its alias if it has provisioned concurrency or a canary
   */
  readonly called: IFunction
  readonly logs: LogGroup

  constructor(scope: Construct, id: string, props: GroupFunctionProps) {
    super(scope, id)
    const { name, settings } = props
    this.logs = props.logs ?? createFunctionLogGroup(this, props)
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
        // with JSON logging, console.log of an object becomes one log event; functions emit audit entries as
        // such events
        loggingFormat: LoggingFormat.JSON,
        applicationLogLevelV2: ApplicationLogLevel.INFO,
        environment: buildFunctionVariables(this, props),
        functionName: isFixed(name) ? nameOf(settings, name) : undefined,
        reservedConcurrentExecutions: reservedFor(name, settings),
        recursiveLoop: props.recursiveLoop,
        // enables Lambda's own tracing; our code adds no segments
        tracing: settings.tracing ? Tracing.ACTIVE : undefined,
      }),
    )
    this.called = this.aliased(name, settings) ?? this.lambda
  }

  /** Creates the alias that callers invoke instead of the function, if the settings need one. */
  private aliased(name: string, settings: Settings): IFunction | undefined {
    const { canary, loginProvisionedConcurrency } = settings
    const provisioned = name === 'login' ? loginProvisionedConcurrency : undefined
    if (!canary && provisioned === undefined) return undefined
    const alias = this.lambda.addAlias(
      canary ? LIVE_ALIAS_NAME : 'provisioned',
      defined({ provisionedConcurrentExecutions: provisioned }),
    )
    if (canary) Canary.of(this, settings, canary).move(name, this.lambda, alias)
    return alias as IFunction
  }
}

/** KMS actions that DynamoDB performs with a customer's key on behalf of a function that reads or writes a table. */
const OF_TABLES = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey*', 'kms:ReEncrypt*']

/**
 * Creates the role of a function, limited to the function's declared uses.
 * @param logs log groups that the function writes to
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
  for (const statement of buildPolicyStatements(declaredUsesOfFunction(name), reached))
    role.addToPolicy(statement)
  const tablesKey = importCustomerKey(scope, settings, 'tables')
  if (tablesKey) role.addToPolicy(allowKeyThroughService(scope, 'dynamodb', tablesKey, OF_TABLES))
  role.addToPolicy(
    new PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: logs.map(one => one.logGroupArn),
    }),
  )
  return role
}

/**
 * Builds the environment variables of a function. The API references the functions, so no variable can hold
 * the API's generated address: without `apiAddress`, handlers take the address from the request.
 */
export function buildFunctionVariables(
  scope: Construct,
  { name, settings, store, audit }: FunctionProps,
): Record<string, string> {
  const uses = declaredUsesOfFunction(name)
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
    ...buildVariablesOfFunction(name, settings),
    TABLES_CLIENT: chooseTablesClientModule(name, settings.tablesClient),
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
