import { RUN_TAG } from './names.ts'

/*
 * The IAM policies that a run needs. The command itself makes the calls of rows without `types`. CloudFormation makes the
 * calls of rows with `types`, with the caller's credentials, when it creates, reads or deletes resources of these types.
 */

/** A statement of the policy. */
export interface PolicyRow {
  actions: readonly string[]
  resources: readonly string[]
  condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>
  /** types of the resources for which CloudFormation needs the statement; absent: the command makes the calls */
  types?: readonly string[]
}

const OWN = 'cloud-auth-prove-*'
const inRegion = (service: string, resource: string): string => `arn:*:${service}:*:*:${resource}`
const prefixed = (service: string, names: readonly string[]): string[] =>
  names.map(name => `${service}:${name}`)
/** A resource that has the tag of a run, or that a request gives the tag. */
const tagged = (place: 'RequestTag' | 'ResourceTag') => ({ Null: { [`aws:${place}/${RUN_TAG}`]: 'false' } })

const BUCKET = `arn:*:s3:::${OWN}`
const FUNCTION = inRegion('lambda', `function:${OWN}`)
const GROUP = inRegion('logs', `log-group:${OWN}`)
const EKS_CLUSTER = inRegion('eks', 'cluster/*')
const POD_IDENTITY = inRegion('eks', 'podidentityassociation/*')
const ROLE = `arn:*:iam::*:role/${OWN}`

/** The statements of the policy by their names. */
export const policyRows: Readonly<Record<string, PolicyRow>> = {
  Stacks: {
    actions: prefixed('cloudformation', [
      'CreateStack',
      'DeleteStack',
      'DescribeStackEvents',
      'DescribeStacks',
      'ListStackResources',
    ]),
    resources: [inRegion('cloudformation', `stack/${OWN}`)],
  },
  // CloudFormation and Lambda read objects with the caller's credentials
  Objects: {
    actions: prefixed('s3', ['DeleteObject', 'GetObject', 'ListBucket', 'PutObject']),
    resources: [BUCKET, `${BUCKET}/*`],
  },
  Invocations: { actions: ['lambda:InvokeFunction'], resources: [FUNCTION] },
  Logs: { actions: ['logs:FilterLogEvents'], resources: [GROUP] },
  Subnet: { actions: ['ec2:DescribeSubnets'], resources: ['*'] },
  Bucket: {
    types: ['AWS::S3::Bucket'],
    actions: prefixed('s3', [
      'CreateBucket',
      'DeleteBucket',
      'PutBucketPublicAccessBlock',
      'PutBucketTagging',
      'PutLifecycleConfiguration',
    ]),
    resources: [BUCKET],
  },
  Tables: {
    types: ['AWS::DynamoDB::GlobalTable'],
    actions: prefixed('dynamodb', [
      'CreateTable',
      'DeleteTable',
      'Describe*',
      'ListTagsOfResource',
      'TagResource',
      'UpdateContinuousBackups',
      'UpdateTable',
      'UpdateTimeToLive',
    ]),
    resources: [inRegion('dynamodb', `table/${OWN}`)],
  },
  Scaling: {
    types: ['AWS::DynamoDB::GlobalTable'],
    actions: ['application-autoscaling:Describe*'],
    resources: ['*'],
  },
  NewKey: {
    types: ['AWS::KMS::Key'],
    actions: prefixed('kms', ['CreateKey', 'TagResource']),
    resources: ['*'],
    condition: tagged('RequestTag'),
  },
  Key: {
    types: ['AWS::KMS::Key', 'AWS::DynamoDB::GlobalTable'],
    actions: prefixed('kms', [
      'DescribeKey',
      'EnableKeyRotation',
      'GetKeyPolicy',
      'GetKeyRotationStatus',
      'ListResourceTags',
      'PutKeyPolicy',
      'ScheduleKeyDeletion',
    ]),
    resources: [inRegion('kms', 'key/*')],
    condition: tagged('ResourceTag'),
  },
  Roles: {
    types: ['AWS::IAM::Role', 'AWS::IAM::Policy'],
    actions: prefixed('iam', [
      'CreateRole',
      'DeleteRole',
      'DeleteRolePolicy',
      'GetRole',
      'GetRolePolicy',
      'ListAttachedRolePolicies',
      'ListRolePolicies',
      'PutRolePolicy',
      'TagRole',
    ]),
    resources: [ROLE],
  },
  PassRoles: {
    types: ['AWS::Lambda::Function', 'AWS::StepFunctions::StateMachine', 'AWS::Events::Rule'],
    actions: ['iam:PassRole'],
    resources: [ROLE],
    condition: {
      StringEquals: {
        'iam:PassedToService': ['events.amazonaws.com', 'lambda.amazonaws.com', 'states.amazonaws.com'],
      },
    },
  },
  Functions: {
    types: ['AWS::Lambda::Function', 'AWS::Lambda::Permission', 'AWS::Lambda::EventInvokeConfig'],
    actions: prefixed('lambda', [
      'AddPermission',
      'CreateFunction',
      'DeleteFunction',
      'DeleteFunctionEventInvokeConfig',
      'GetFunction*',
      'GetPolicy',
      'GetRuntimeManagementConfig',
      'ListTags',
      'PutFunctionConcurrency',
      'PutFunctionEventInvokeConfig',
      'RemovePermission',
      'TagResource',
    ]),
    resources: [FUNCTION],
  },
  EventSources: {
    types: ['AWS::Lambda::EventSourceMapping'],
    actions: prefixed('lambda', [
      'CreateEventSourceMapping',
      'DeleteEventSourceMapping',
      'GetEventSourceMapping',
    ]),
    resources: ['*'],
    condition: { StringLike: { 'lambda:FunctionArn': FUNCTION } },
  },
  EventSourceTags: {
    types: ['AWS::Lambda::EventSourceMapping'],
    actions: prefixed('lambda', ['ListTags', 'TagResource']),
    resources: [inRegion('lambda', 'event-source-mapping:*')],
  },
  LogGroups: {
    types: ['AWS::Logs::LogGroup', 'AWS::Logs::MetricFilter', 'AWS::Logs::SubscriptionFilter'],
    actions: prefixed('logs', [
      'CreateLogGroup',
      'DeleteLogGroup',
      'DeleteMetricFilter',
      'DeleteSubscriptionFilter',
      'GetDataProtectionPolicy',
      'ListTagsForResource',
      'PutMetricFilter',
      'PutRetentionPolicy',
      'PutSubscriptionFilter',
      'TagResource',
    ]),
    resources: [GROUP],
  },
  Queries: {
    types: ['AWS::Logs::QueryDefinition', 'AWS::Logs::LogGroup'],
    actions: prefixed('logs', ['DeleteQueryDefinition', 'Describe*', 'PutQueryDefinition']),
    resources: ['*'],
  },
  Alarms: {
    types: ['AWS::CloudWatch::Alarm'],
    actions: prefixed('cloudwatch', [
      'DeleteAlarms',
      'DescribeAlarms',
      'ListTagsForResource',
      'PutMetricAlarm',
      'TagResource',
    ]),
    resources: [inRegion('cloudwatch', `alarm:${OWN}`)],
  },
  Queue: {
    types: ['AWS::SQS::Queue'],
    actions: prefixed('sqs', [
      'CreateQueue',
      'DeleteQueue',
      'GetQueueAttributes',
      'GetQueueUrl',
      'ListQueueTags',
      'TagQueue',
    ]),
    resources: [inRegion('sqs', OWN)],
  },
  Api: {
    types: ['AWS::ApiGatewayV2::Api', 'AWS::ApiGatewayV2::Stage'],
    actions: prefixed('apigateway', ['DELETE', 'GET', 'PATCH', 'POST', 'PUT', 'TagResource']),
    resources: ['arn:*:apigateway:*::/apis*', 'arn:*:apigateway:*::/tags/*'],
  },
  Rules: {
    types: ['AWS::Events::Rule'],
    actions: prefixed('events', [
      'DeleteRule',
      'DescribeRule',
      'ListTagsForResource',
      'ListTargetsByRule',
      'PutRule',
      'PutTargets',
      'RemoveTargets',
      'TagResource',
    ]),
    resources: [inRegion('events', `rule/${OWN}`)],
  },
  StateMachines: {
    types: ['AWS::StepFunctions::StateMachine'],
    actions: prefixed('states', [
      'CreateStateMachine',
      'DeleteStateMachine',
      'DescribeStateMachine',
      'ListTagsForResource',
      'TagResource',
    ]),
    resources: [inRegion('states', `stateMachine:${OWN}`)],
  },
  Image: {
    types: ['AWS::EC2::Instance'],
    actions: ['ssm:GetParameters'],
    resources: ['arn:*:ssm:*::parameter/aws/service/ami-amazon-linux-latest/*'],
  },
  Instance: {
    types: ['AWS::EC2::Instance', 'AWS::EC2::SecurityGroup'],
    actions: prefixed('ec2', ['CreateSecurityGroup', 'RunInstances']),
    resources: ['*'],
    condition: { StringEqualsIfExists: { 'ec2:InstanceType': 't4g.nano' } },
  },
  InstanceReads: {
    types: ['AWS::EC2::Instance', 'AWS::EC2::SecurityGroup'],
    actions: ['ec2:Describe*'],
    resources: ['*'],
  },
  InstanceTags: {
    types: ['AWS::EC2::Instance', 'AWS::EC2::SecurityGroup'],
    actions: ['ec2:CreateTags'],
    resources: ['*'],
    condition: tagged('RequestTag'),
  },
  InstanceEnd: {
    types: ['AWS::EC2::Instance', 'AWS::EC2::SecurityGroup'],
    actions: prefixed('ec2', ['DeleteSecurityGroup', 'TerminateInstances']),
    resources: ['*'],
    condition: tagged('ResourceTag'),
  },
}

/** The further statements that a run with an EKS cluster needs. One managed policy cannot have all statements. */
export const eksPolicyRows: Readonly<Record<string, PolicyRow>> = {
  Cluster: { actions: ['eks:DescribeCluster'], resources: [EKS_CLUSTER] },
  NewPodIdentity: {
    types: ['AWS::EKS::PodIdentityAssociation'],
    actions: prefixed('eks', ['CreatePodIdentityAssociation', 'TagResource']),
    resources: [EKS_CLUSTER, POD_IDENTITY],
    condition: tagged('RequestTag'),
  },
  PodIdentity: {
    types: ['AWS::EKS::PodIdentityAssociation'],
    actions: prefixed('eks', ['DeletePodIdentityAssociation', 'DescribePodIdentityAssociation']),
    resources: [POD_IDENTITY],
    condition: tagged('ResourceTag'),
  },
  PassPodRole: {
    types: ['AWS::EKS::PodIdentityAssociation'],
    actions: ['iam:PassRole'],
    resources: [ROLE],
    condition: { StringEquals: { 'iam:PassedToService': 'pods.eks.amazonaws.com' } },
  },
}

/** Builds a policy document. */
export const buildProvePolicy = (rows = policyRows) => ({
  Version: '2012-10-17',
  Statement: Object.entries(rows).map(([Sid, { actions, resources, condition }]) => ({
    Sid,
    Effect: 'Allow' as const,
    Action: actions,
    Resource: resources,
    ...(condition === undefined ? {} : { Condition: condition }),
  })),
})
