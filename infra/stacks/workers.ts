import { Duration, Stack, type StackProps } from 'aws-cdk-lib'
import { CfnEventBusPolicy, Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { CfnPermission, type IFunction, RecursiveLoop } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { ATTEMPT_WORKFLOW } from '../../shared/ceremony/watch.ts'
import { defined } from '../../shared/values/defined.ts'
import { type WorkerDefinition, workerDefinitions } from '../../shared/workers/workers.ts'
import {
  DRILL_WORKFLOW_NAME,
  type WorkflowDefinition,
  workflowDefinitions,
} from '../../shared/workers/workflows.ts'
import { defineAttemptWorkflow } from '../constructs/attempt-definition.ts'
import { defineDrillWorkflow } from '../constructs/drill-definition.ts'
import { type FunctionContext, GroupFunction } from '../constructs/group-function.ts'
import { StreamSource } from '../constructs/stream-source.ts'
import { WorkflowMachine } from '../constructs/workflow.ts'
import { defineWorkflow, type WorkflowArns } from '../constructs/workflow-definition.ts'
import type { Settings } from '../settings.ts'
import { addMetricAlarm } from '../watching/alarm.ts'
import type { ApiStack } from './api.ts'

/** The events by which EC2 reports a change of an instance's state. */
const EC2_EVENTS = { source: 'aws.ec2', type: 'EC2 Instance State-change Notification' } as const

/** Lambda functions that run on schedules, from streams and in workflows. */
export class WorkersStack extends Stack {
  constructor(scope: Construct, id: string, { functionContext, logs }: ApiStack, props: StackProps = {}) {
    super(scope, id, props)
    const lambdas = new Map<string, IFunction>()
    const names: string[] = []
    for (const [name, worker] of Object.entries<WorkerDefinition>(workerDefinitions)) {
      if (worker.withApi || (worker.setting && functionContext.settings[worker.setting] === undefined))
        continue
      const { lambda: own, called: lambda } = new GroupFunction(
        this,
        name,
        defined({
          ...functionContext,
          name,
          logs,
          timeout: Duration.minutes(worker.timeout),
          // a job that needs longer than one invocation starts its function again
          recursiveLoop: name === 'on-job' ? RecursiveLoop.ALLOW : undefined,
        }),
      )
      // set on the alias if the function has an alias, because Lambda does not apply a function's own setting
      // to its alias (docs/look-up/unverified.md#alias)
      if (worker.queued)
        lambda.configureAsyncInvoke({
          maxEventAge: Duration.minutes(worker.queued.minutes),
          retryAttempts: worker.queued.retries,
        })
      lambdas.set(name, lambda)
      names.push(own.functionName)
      if (worker.every !== undefined) this.schedule(name, worker.summary, worker.every, lambda)
      if (worker.stream !== undefined) this.listen(name, worker.stream, lambda, functionContext)
    }
    const { settings } = functionContext
    const machine = (
      name: string,
      folder: keyof typeof workerDefinitions,
      definition: (arns: WorkflowArns) => object,
    ) => {
      const worker = lambdas.get(folder)
      if (!worker) throw new Error(`no worker runs the steps of the workflow ${name}`)
      return new WorkflowMachine(this, `${name} workflow`, { name, definition, settings, worker }).machine.ref
    }
    const machines = Object.entries<WorkflowDefinition>(workflowDefinitions).map(([name, workflow]) =>
      machine(name, 'on-operation', arns => defineWorkflow(name, workflow, arns)),
    )
    machines.push(machine(ATTEMPT_WORKFLOW, 'on-attempt', defineAttemptWorkflow))
    machines.push(machine(DRILL_WORKFLOW_NAME, 'on-drill', defineDrillWorkflow))
    this.watch(machines, lambdas, settings)
    addMetricAlarm(this, 'WorkersThrottled', settings, names)
    const endsTokens = lambdas.get('on-instance-event')
    if (endsTokens) this.receive(settings, endsTokens)
    const rehearses = lambdas.get('on-drill')
    if (settings.drill && rehearses)
      calls(
        new Rule(this, 'drill schedule', {
          description: 'starts the drill on the primary: a planned switch and the switch back',
          schedule: Schedule.expression(settings.drill.schedule),
        }),
        rehearses,
      )
  }

  /**
   * Reports failed workflows. One EventBridge rule matches every execution that failed, timed out or was
   * aborted. The rule invokes the function that resumes operations, and the alarm counts the rule's matches.
   * One alarm for each workflow and each status would cost more than all other alarms.
   */
  private watch(
    machines: readonly string[],
    lambdas: ReadonlyMap<string, IFunction>,
    settings: Settings,
  ): void {
    const journal = lambdas.get('on-journal')
    if (!journal) throw new Error('no worker resumes operations: the function on-journal is missing')
    const rule = new Rule(this, 'workflow ends', {
      description: 'a workflow failed, was stopped, or took too long',
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: { status: ['FAILED', 'TIMED_OUT', 'ABORTED'], stateMachineArn: machines },
      },
    })
    calls(rule, journal)
    addMetricAlarm(this, 'WorkflowFailed', settings, [rule.ruleName])
  }

  /**
   * Sends the ends of instances to a function. EC2 sends them to the default bus of the instance's own account and
   * region. Other accounts may forward only this kind of event.
   */
  private receive(
    { stage, instanceEvents: { accounts } = { accounts: [] } }: Settings,
    lambda: IFunction,
  ): void {
    const own = Stack.of(this).account
    const rule = new Rule(this, 'instance ends', {
      description: 'an EC2 instance is being terminated',
      eventPattern: {
        source: [EC2_EVENTS.source],
        account: [own, ...accounts],
        detailType: [EC2_EVENTS.type],
        detail: { state: ['shutting-down', 'terminated'] },
      },
    })
    calls(rule, lambda)
    if (accounts.length === 0) return
    new CfnEventBusPolicy(this, 'instance ends of others', {
      statementId: `cloud-auth-${stage}-instance-ends`,
      statement: {
        Effect: 'Allow',
        Principal: { AWS: [...accounts] },
        Action: 'events:PutEvents',
        Resource: Stack.of(this).formatArn({
          service: 'events',
          resource: 'event-bus',
          resourceName: 'default',
        }),
        Condition: {
          StringEquals: { 'events:source': EC2_EVENTS.source, 'events:detail-type': EC2_EVENTS.type },
        },
      },
    })
  }

  private schedule(name: string, description: string, minutes: number, lambda: IFunction): void {
    const schedule = Schedule.rate(Duration.minutes(minutes))
    calls(new Rule(this, `${name} schedule`, { description, schedule }), lambda)
  }

  // Subscribes a function to a table's stream. A restored table has no stream until an operator enables a
  // stream. Without a stream only the schedule triggers the function.
  private listen(
    name: string,
    { table, partitions }: NonNullable<WorkerDefinition['stream']>,
    lambda: IFunction,
    { store }: FunctionContext,
  ): void {
    const { tableStreamArn: stream, streamDefinition = '' } = store[table]
    if (stream !== undefined)
      new StreamSource(this, `${name} source`, { lambda, stream, partitions, definition: streamDefinition })
  }
}

/**
 * Adds a function as the target of a rule. The CDK's own target class derives the permission's id from the construct
 * path, which differs between apps.
 */
function calls(rule: Rule, { functionArn }: IFunction): void {
  rule.addTarget({ bind: () => ({ arn: functionArn, retryPolicy: { maximumRetryAttempts: 2 } }) })
  new CfnPermission(rule, 'Permission', {
    action: 'lambda:InvokeFunction',
    functionName: functionArn,
    principal: 'events.amazonaws.com',
    sourceArn: rule.ruleArn,
  })
}
