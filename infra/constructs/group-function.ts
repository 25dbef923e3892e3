import { ArnFormat, type Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  type RecursiveLoop,
  Runtime,
} from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { usesOfFunction, version } from '../build/functions.ts'
import type { Settings } from '../settings.ts'
import type { DataStack } from '../stacks/data.ts'
import { statementsFor } from './grants.ts'

/** What all Lambdas of a cluster share. */
export interface Surroundings {
  settings: Settings
  store: DataStack
  /** log group of the audit log */
  audit: LogGroup
  /** how clients reach the cluster */
  apiAddress: string
  /** directory of the bundles, one folder for each function */
  bundles: string
}

export interface GroupFunctionProps extends Surroundings {
  /** folder in functions/ */
  name: string
  timeout: Duration
  reservedConcurrency?: number
  recursiveLoop?: RecursiveLoop
}

/** Name of the Lambda that runs background jobs: fixed, so that others can name it without depending on it. */
const workerName = ({ stage }: Settings): string => `cloud-auth-${stage}-job`

/** A Lambda with its log group, and a role that may do what its uses need and nothing else. */
export class GroupFunction extends Construct {
  readonly lambda: LambdaFunction
  readonly logs: LogGroup

  constructor(scope: Construct, id: string, props: GroupFunctionProps) {
    super(scope, id)
    const { name, settings } = props
    this.logs = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays,
      removalPolicy: settings.deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    })
    this.lambda = new LambdaFunction(this, 'Function', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: 'index.handler',
      code: Code.fromAsset(`${props.bundles}/${name}`),
      description: `cloud-auth: ${name}`,
      memorySize: settings.memory,
      timeout: props.timeout,
      role: this.role(props),
      logGroup: this.logs,
      environment: this.environment(props),
      ...(name === 'on-job' ? { functionName: workerName(settings) } : {}),
      ...(props.reservedConcurrency === undefined
        ? {}
        : { reservedConcurrentExecutions: props.reservedConcurrency }),
      ...(props.recursiveLoop === undefined ? {} : { recursiveLoop: props.recursiveLoop }),
    })
  }

  private role({ name, settings, store, audit }: GroupFunctionProps): Role {
    const workerArn = Stack.of(this).formatArn({
      service: 'lambda',
      resource: 'function',
      resourceName: workerName(settings),
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
    const scope = {
      store,
      assumableRoleArns: settings.assumableRoleArns,
      workerArn,
      auditArn: audit.logGroupArn,
    }
    for (const statement of statementsFor(usesOfFunction(name), scope)) role.addToPolicy(statement)
    role.addToPolicy(
      new PolicyStatement({
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [this.logs.logGroupArn],
      }),
    )
    return role
  }

  private environment({
    name,
    settings,
    store,
    audit,
    apiAddress,
  }: GroupFunctionProps): Record<string, string> {
    const uses = usesOfFunction(name)
    return {
      API_ADDRESS: apiAddress,
      ASSUMABLE_ROLES: settings.assumableRoleArns.join(','),
      CLUSTER_NAME: settings.clusterName,
      CLUSTER_TABLE: store.cluster.tableName,
      DATA_TABLE: store.data.tableName,
      LEGACY_SIGNATURES: String(settings.legacySignatures),
      SERVICE_VERSION: version,
      ...(uses.includes('background') ? { WORKER_FUNCTION: workerName(settings) } : {}),
      ...(uses.includes('genesis') ? { KEY_ARN: store.key.keyArn } : {}),
      ...(uses.includes('audit-log') ? { AUDIT_GROUP: audit.logGroupName } : {}),
    }
  }
}
