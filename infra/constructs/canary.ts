import { Stack } from 'aws-cdk-lib'
import { CfnApplication, CfnDeploymentConfig, CfnDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { type Alias, CfnAlias, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { Settings } from '../settings.ts'
import { type AlarmName, nameOfAlarm } from '../watching/alarms.ts'

/** The alias that everybody calls where functions have canaries. */
export const LIVE = 'live'

/** Alarms by which a deployment is given up: what callers and operators see when functions do not work. */
const ALARMS: readonly AlarmName[] = ['FunctionFailed', 'ServerErrors', 'WorkflowFailed']

const COMPUTE = 'Lambda'

interface CanaryProps {
  settings: Settings
  canary: NonNullable<Settings['canary']>
}

/**
 * Deploys the functions of a stack step by step. CloudFormation has CodeDeploy move an alias from one version to the next,
 * and goes back with the whole stack where CodeDeploy gave up.
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

  /** The one of a stack. */
  static of(scope: Construct, settings: Settings, canary: CanaryProps['canary']): Canary {
    const stack = Stack.of(scope)
    const made = stack.node.tryFindChild('Canary') as Canary | undefined
    return made ?? new Canary(stack, 'Canary', { settings, canary })
  }

  /** Has an alias move step by step. Alarms stand here by their names: what they count names the alias. */
  move(name: string, lambda: LambdaFunction, alias: Alias): void {
    this.role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
        resources: [lambda.functionArn, `${lambda.functionArn}:${LIVE}`],
      }),
    )
    const group = new CfnDeploymentGroup(this, `${name} deployments`, {
      applicationName: this.application.ref,
      deploymentConfigName: this.config.ref,
      serviceRoleArn: this.role.roleArn,
      deploymentStyle: { deploymentType: 'BLUE_GREEN', deploymentOption: 'WITH_TRAFFIC_CONTROL' },
      alarmConfiguration: {
        enabled: true,
        alarms: ALARMS.map(alarm => ({ name: nameOfAlarm(alarm, this.settings.stage) })),
      },
      autoRollbackConfiguration: {
        enabled: true,
        events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM', 'DEPLOYMENT_STOP_ON_REQUEST'],
      },
    })
    const { defaultChild } = alias.node
    if (!(defaultChild instanceof CfnAlias)) throw new Error(`the alias of ${name} is not one of Lambda`)
    defaultChild.cfnOptions.updatePolicy = {
      codeDeployLambdaAliasUpdate: {
        applicationName: this.application.ref,
        deploymentGroupName: group.ref,
      },
    }
  }
}
