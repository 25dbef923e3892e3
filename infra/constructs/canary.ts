import { Stack } from 'aws-cdk-lib'
import { CfnApplication, CfnDeploymentConfig, CfnDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { type Alias, CfnAlias, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { Settings } from '../settings.ts'
import { type AlarmName, alarmNameInStage } from '../watching/alarms.ts'

/** Name of the alias that callers invoke when functions have canaries. */
export const LIVE_ALIAS_NAME = 'live'

/** Alarms that roll a deployment back, because they show callers and operators failing functions. */
const ALARMS: readonly AlarmName[] = ['FunctionFailed', 'ServerErrors', 'WorkflowFailed']

const COMPUTE = 'Lambda'

interface CanaryProps {
  settings: Settings
  canary: NonNullable<Settings['canary']>
}

/**
 * Deploys the functions of a stack step by step. CodeDeploy moves an alias from one version to the next. When
 * CodeDeploy rolls back, CloudFormation rolls back the whole stack.
 */
export class Canary extends Construct {
  private readonly application: CfnApplication
  private readonly config: CfnDeploymentConfig
  private readonly role: Role
  private readonly settings: Settings

  constructor(scope: Construct, id: string, { settings, canary }: CanaryProps) {
    super(scope, id)
    this.settings = settings
    this.application = new CfnApplication(this, 'Application', { computePlatform: COMPUTE })
    this.config = new CfnDeploymentConfig(this, 'Config', {
      computePlatform: COMPUTE,
      trafficRoutingConfig: {
        type: 'TimeBasedCanary',
        timeBasedCanary: { canaryPercentage: canary.percent, canaryInterval: canary.minutes },
      },
    })
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('codedeploy.amazonaws.com') })
    this.role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }))
  }

  /** Returns the canary of a stack, and creates it at the first call. */
  static of(scope: Construct, settings: Settings, canary: CanaryProps['canary']): Canary {
    const stack = Stack.of(scope)
    const made = stack.node.tryFindChild('Canary') as Canary | undefined
    return made ?? new Canary(stack, 'Canary', { settings, canary })
  }

  /**
   * Makes CodeDeploy shift an alias step by step. Alarms are referenced by name, because their metrics reference the
   * alias.
   */
  move(name: string, lambda: LambdaFunction, alias: Alias): void {
    this.role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
        resources: [lambda.functionArn, `${lambda.functionArn}:${LIVE_ALIAS_NAME}`],
      }),
    )
    const group = new CfnDeploymentGroup(this, `${name} deployments`, {
      applicationName: this.application.ref,
      deploymentConfigName: this.config.ref,
      serviceRoleArn: this.role.roleArn,
      deploymentStyle: { deploymentType: 'BLUE_GREEN', deploymentOption: 'WITH_TRAFFIC_CONTROL' },
      alarmConfiguration: {
        enabled: true,
        alarms: ALARMS.map(alarm => ({ name: alarmNameInStage(alarm, this.settings.stage) })),
      },
      autoRollbackConfiguration: {
        enabled: true,
        events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM', 'DEPLOYMENT_STOP_ON_REQUEST'],
      },
    })
    const { defaultChild } = alias.node
    if (!(defaultChild instanceof CfnAlias))
      throw new Error(`the alias of ${name} must be a CfnAlias of Lambda`)
    defaultChild.cfnOptions.updatePolicy = {
      codeDeployLambdaAliasUpdate: {
        applicationName: this.application.ref,
        deploymentGroupName: group.ref,
      },
    }
  }
}
