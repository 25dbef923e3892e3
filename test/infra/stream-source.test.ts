import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { expect, test } from 'vitest'
import { unvalidatedAppProps } from '../../infra/app.ts'
import { StreamSource } from '../../infra/constructs/stream-source.ts'

test('a stream source passes inserts of its partitions, and bisects a failing batch without a dead-letter queue', () => {
  const stack = new Stack(new App(unvalidatedAppProps), 'stack')
  const lambda = new LambdaFunction(stack, 'Function', {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('//'),
  })
  new StreamSource(stack, 'source', {
    lambda,
    stream: 'arn:aws:dynamodb:eu-west-1:111122223333:table/t/stream/s',
    partitions: 'j#',
    definition: 'definition',
  })
  const template = Template.fromStack(stack)
  const [mapping] = Object.values(template.findResources('AWS::Lambda::EventSourceMapping'))
  expect(mapping?.['Properties']).toMatchObject({
    StartingPosition: 'LATEST',
    BisectBatchOnFunctionError: true,
    MaximumRetryAttempts: 3,
    // another definition of the table changes the tag, so that CloudFormation reads the stream's ARN again
    Tags: [{ Key: 'cloud-auth:stream-of', Value: 'definition' }],
  })
  const { Pattern } = mapping?.['Properties']?.FilterCriteria.Filters[0] ?? {}
  expect(JSON.parse(Pattern)).toEqual({
    eventName: ['INSERT'],
    dynamodb: { Keys: { pk: { S: [{ prefix: 'j#' }] } } },
  })
  // the event source has no dead-letter queue, because stream positions expire after a day, and the queue
  // would keep an alarm on for two weeks
  template.resourceCountIs('AWS::SQS::Queue', 0)
  template.resourceCountIs('AWS::CloudWatch::Alarm', 0)
})
