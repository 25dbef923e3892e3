import { ArnFormat, Stack } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnStateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { Construct } from 'constructs'
import type { Settings } from '../settings.ts'
import { stageWorkflowName } from './group-function.ts'
import type { WorkflowArns } from './workflow-definition.ts'

interface WorkflowMachineProps {
  name: string
  definition: (arns: WorkflowArns) => object
  settings: Settings
  /** function that runs the steps of the workflow */
  worker: IFunction
}

/** A workflow as a Step Functions state machine. */
export class WorkflowMachine extends Construct {
  readonly machine: CfnStateMachine

  constructor(scope: Construct, id: string, { name, definition, settings, worker }: WorkflowMachineProps) {
    super(scope, id)
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('states.amazonaws.com') })
    role.addToPolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [worker.functionArn] }),
    )
    const invoke = Stack.of(this).formatArn({
      service: 'states',
      region: '',
      account: '',
      resource: 'lambda',
      resourceName: 'invoke',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
    this.machine = new CfnStateMachine(this, 'Machine', {
      stateMachineName: stageWorkflowName(settings, name),
      roleArn: role.roleArn,
      definition: definition({ invoke, worker: worker.functionArn }),
    })
    this.machine.node.addDependency(role)
  }
}
