import { Tags } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type IFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'

/** Maximum number of stream records in one invocation. */
const STREAM_BATCH = 100

interface StreamSourceProps {
  lambda: IFunction
  /** ARN of the table's stream */
  stream: string
  /** hash of the table's definition; a changed hash makes CloudFormation read the stream's ARN again */
  definition: string
  /** prefix of partition keys: only insertions into these partitions invoke the function */
  partitions: string
}

/**
 * Invokes a function for items inserted into a table. Lambda halves a failing batch until only the faulty
 * records are left, and then drops these records. Dropping them is safe, because each of these functions also
 * scans for all its work once a minute. The alarm on failed functions notifies the operators.
 */
export class StreamSource extends Construct {
  constructor(scope: Construct, id: string, { lambda, stream, partitions, definition }: StreamSourceProps) {
    super(scope, id)
    lambda.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
        resources: [stream],
      }),
    )
    lambda.addToRolePolicy(new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }))
    const mapping = new EventSourceMapping(this, 'Mapping', {
      target: lambda,
      eventSourceArn: stream,
      startingPosition: StartingPosition.LATEST,
      batchSize: STREAM_BATCH,
      bisectBatchOnError: true,
      retryAttempts: 3,
      filters: [
        FilterCriteria.filter({
          eventName: FilterRule.isEqual('INSERT'),
          dynamodb: { Keys: { pk: { S: FilterRule.beginsWith(partitions) } } },
        }),
      ],
    })
    // CloudFormation reads another stack's output only when it updates this stack, and skips stacks whose
    // template did not change. This tag changes the template.
    Tags.of(mapping).add('cloud-auth:stream-of', definition)
  }
}
