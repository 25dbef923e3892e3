import { Duration } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { CfnFunction, CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnSubscriptionFilter, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { workerDefinitions } from '../../shared/workers/workers.ts'
import type { Settings } from '../settings.ts'
import { addMetricAlarm } from '../watching/alarm.ts'
import { allowKeyThroughService, importCustomerKey } from './account.ts'
import { type FunctionContext, GroupFunction } from './group-function.ts'

const NAME = 'on-audit-entries'

interface AuditCarrierProps extends FunctionContext {
  /**
   * log group that audited functions print to. The carrier prints to another log group, because otherwise it
   * would carry its own lines.
   */
  source: LogGroup
}

/**
 * Copies audit entries from the functions' log group to the audit log group. Entries that Lambda could not deliver
 * after its own retries stay in a queue for two weeks and raise an alarm.
 */
export class AuditCarrier extends Construct {
  readonly subscription: CfnSubscriptionFilter
  readonly lambda: IFunction

  constructor(scope: Construct, id: string, { source, ...surroundings }: AuditCarrierProps) {
    super(scope, id)
    // The carrier's function is a child of the scope and not of this construct, because the embedded host derives a
    // function's folder from the first id of its path.
    const { lambda, called } = new GroupFunction(scope, NAME, {
      ...surroundings,
      name: NAME,
      timeout: Duration.minutes(workerDefinitions[NAME].timeout),
    })
    this.lambda = lambda
    const { settings } = surroundings
    const undelivered = this.queueOf(lambda, settings)
    this.subscription = this.subscribe(called, source)
    addMetricAlarm(this, 'Undelivered', settings, [undelivered.queueName])
    addMetricAlarm(this, 'Lost', settings, [lambda.functionName])
  }

  private queueOf(lambda: IFunction, settings: Settings): Queue {
    const key = importCustomerKey(this, settings, 'logs')
    const queue = new Queue(this, 'Queue', {
      ...(key
        ? { encryption: QueueEncryption.KMS, encryptionMasterKey: key }
        : { encryption: QueueEncryption.SQS_MANAGED }),
      retentionPeriod: Duration.days(14),
    })
    lambda.addToRolePolicy(new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [queue.queueArn] }))
    if (key)
      lambda.addToRolePolicy(allowKeyThroughService(this, 'sqs', key, ['kms:Decrypt', 'kms:GenerateDataKey']))
    if (lambda.node.defaultChild instanceof CfnFunction)
      lambda.node.defaultChild.deadLetterConfig = { targetArn: queue.queueArn }
    return queue
  }

  /**
   * Subscribes the carrier to log events whose message is an object with the member `audit`. Only audit
   * entries have this member.
   */
  private subscribe(lambda: IFunction, source: LogGroup): CfnSubscriptionFilter {
    const permission = new CfnPermission(this, 'Permission', {
      action: 'lambda:InvokeFunction',
      functionName: lambda.functionArn,
      principal: 'logs.amazonaws.com',
      sourceArn: source.logGroupArn,
    })
    const filter = new CfnSubscriptionFilter(this, 'Subscription', {
      logGroupName: source.logGroupName,
      filterPattern: '{ $.message.audit = "*" }',
      destinationArn: lambda.functionArn,
    })
    filter.addResourceDependency(permission)
    return filter
  }
}
