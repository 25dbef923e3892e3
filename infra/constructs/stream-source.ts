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

/** Changes of a table that a function is told of at once, at most. */
const STREAM_BATCH = 100

interface StreamSourceProps {
  lambda: IFunction
  /** ARN of the table's stream */
  stream: string
  /** which definition of the table the stream belongs to: another one makes CloudFormation read the ARN again */
  definition: string
  /** prefix of the partition keys of the items whose insertion the function is told */
  partitions: string
}

/**
 * Tells a function of items that were inserted into a table. A batch that it cannot take is halved until only the
 * faulty records are left, which are told no further: whoever is woken so looks for everything once a minute as well. The
 * alarm for functions that fail tells the operators.
 */
export class StreamSource extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { lambda, stream, partitions, definition: of }: StreamSourceProps,
  ) {
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
    // CloudFormation reads another stack's output only when it updates this stack, and updates none whose template is as before
    Tags.of(mapping).add('cloud-auth:stream-of', of)
  }
}
