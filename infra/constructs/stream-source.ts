import { Duration } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type IFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { STREAM_BATCH } from '../../shared/workers/workers.ts'
import type { Settings } from '../settings.ts'
import { alarm } from './alarm.ts'

interface StreamSourceProps {
  settings: Settings
  lambda: IFunction
  /** ARN of the table's stream */
  stream: string
  /** prefix of the partition keys of the items whose insertion the function is told */
  partitions: string
}

/**
 * Tells a function of items that were inserted into a table. A batch that it cannot take is halved until only the
 * faulty records are left; those go to a queue, and an alarm tells the operators.
 */
export class StreamSource extends Construct {
  constructor(scope: Construct, id: string, { settings, lambda, stream, partitions }: StreamSourceProps) {
    super(scope, id)
    const queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.SQS_MANAGED,
      retentionPeriod: Duration.days(14),
    })
    lambda.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
        resources: [stream],
      }),
    )
    lambda.addToRolePolicy(new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }))
    new EventSourceMapping(this, 'Mapping', {
      target: lambda,
      eventSourceArn: stream,
      startingPosition: StartingPosition.LATEST,
      batchSize: STREAM_BATCH,
      bisectBatchOnError: true,
      retryAttempts: 3,
      onFailure: new SqsDlq(queue),
      filters: [
        FilterCriteria.filter({
          eventName: FilterRule.isEqual('INSERT'),
          dynamodb: { Keys: { pk: { S: FilterRule.beginsWith(partitions) } } },
        }),
      ],
    })
    alarm(this, 'Refused', settings.alarmActionArns, {
      alarmDescription: `The function ${lambda.node.path} could not take what the stream told it`,
      namespace: 'AWS/SQS',
      metricName: 'ApproximateNumberOfMessagesVisible',
      dimensions: [{ name: 'QueueName', value: queue.queueName }],
    })
  }
}
