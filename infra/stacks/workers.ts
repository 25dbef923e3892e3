import { ArnFormat, Duration, Stack } from 'aws-cdk-lib'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets'
import { CfnPermission, type IFunction, RecursiveLoop } from 'aws-cdk-lib/aws-lambda'
import { CfnSubscriptionFilter } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { type Worker, workers } from '../../shared/jobs/workers.ts'
import { GroupFunction } from '../constructs/group-function.ts'
import type { ApiStack } from './api.ts'

/** Lambdas that answer schedules and other events. */
export class WorkersStack extends Stack {
  constructor(scope: Construct, id: string, { surroundings, functions }: ApiStack) {
    super(scope, id)
    for (const [name, worker] of Object.entries<Worker>(workers)) {
      const { lambda } = new GroupFunction(this, name, {
        ...surroundings,
        name,
        timeout: Duration.minutes(worker.timeout),
        // a job that outlives its Lambda starts itself again
        ...(name === 'on-job' ? { recursiveLoop: RecursiveLoop.ALLOW } : {}),
      })
      if (worker.every !== undefined) this.schedule(name, worker.summary, worker.every, lambda)
      if (name === 'on-audit-entries') this.subscribe(lambda, functions)
    }
  }

  private schedule(name: string, description: string, hours: number, lambda: IFunction): void {
    new Rule(this, `${name} schedule`, {
      description,
      schedule: Schedule.rate(Duration.hours(hours)),
      targets: [new LambdaTarget(lambda, { retryAttempts: 2 })],
    })
  }

  /** Lines that are audit entries have a member `audit`; nothing else has. */
  private subscribe(lambda: IFunction, printing: readonly GroupFunction[]): void {
    const permission = new CfnPermission(this, 'logs permission', {
      action: 'lambda:InvokeFunction',
      functionName: lambda.functionArn,
      principal: 'logs.amazonaws.com',
      sourceArn: this.formatArn({
        service: 'logs',
        resource: 'log-group',
        resourceName: '*',
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    })
    for (const { node, logs } of printing) {
      const filter = new CfnSubscriptionFilter(this, `entries of ${node.id}`, {
        logGroupName: logs.logGroupName,
        filterPattern: '{ $.audit = "*" }',
        destinationArn: lambda.functionArn,
      })
      filter.addResourceDependency(permission)
    }
  }
}
