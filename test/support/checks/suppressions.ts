/** A suppressed finding of a template check, with its reason. */
export interface Suppression {
  by: 'cdk-nag' | 'cfn-lint'
  /** name of the rule, optionally with its argument in brackets */
  rule: string
  /** path or logical id of the resource; absent: all resources */
  at?: RegExp
  /** only earlier versions of the program than the pinned one have the finding */
  isOfEarlierVersions?: true
  reason: string
}

/** Resources that the CDK creates to copy the code of a Web Function to Lambda. */
const OF_WEB_CODE = /^web .*(?:S3ObjectCopy|WebFunctionAssetBucket)/
const WEB_CODE = 'The CDK creates it for a Web Function, and it contains only our code'

export const suppressions: readonly Suppression[] = [
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Resource::*]',
    reason:
      'DescribeInstances, look-ups of IAM, ListStreams, DescribeAlarms and traces support no narrower resource; docs/permissions.md lists them, and a test holds the list',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Resource::arn:*:iam::*:role/cloud-auth-*]',
    reason:
      'Roles of satellite accounts are unknown at synthesis; the setting assumableRoleArns narrows them, and their trust policies decide',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Action::kms:GenerateDataKey*]',
    at: /^full /,
    reason:
      'DynamoDB calls it on behalf of the caller, limited by kms:ViaService, and AWS uses this action name',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Action::kms:ReEncrypt*]',
    at: /^full /,
    reason:
      'DynamoDB calls it on behalf of the caller, limited by kms:ViaService, and AWS uses this action name',
  },
  { by: 'cdk-nag', rule: 'AwsSolutions-IAM5', at: OF_WEB_CODE, reason: WEB_CODE },
  { by: 'cdk-nag', rule: 'AwsSolutions-IAM4', at: OF_WEB_CODE, reason: WEB_CODE },
  { by: 'cdk-nag', rule: 'AwsSolutions-S1', at: OF_WEB_CODE, reason: WEB_CODE },
  { by: 'cdk-nag', rule: 'Serverless-LambdaDefaultMemorySize', at: OF_WEB_CODE, reason: WEB_CODE },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-SQS4',
    reason: 'Only Lambda sends to it, and operators read it with AWS clients, which use TLS',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-SQSRedrivePolicy',
    reason: 'It is the dead-letter queue itself, and has an alarm',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-SF1',
    reason:
      'Step Functions keep the history of an execution for 90 days; steps write lines of their own, and the audit log',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-SF2',
    reason: 'A workflow is a few steps of one function, whose traces the setting tracing switches on',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-StepFunctionStateMachineXray',
    reason: 'A workflow is a few steps of one function, whose traces the setting tracing switches on',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-LambdaDLQ',
    reason:
      'Callers wait for the answer; functions invoked by schedules, streams and workflows scan for all their work again within a minute or an hour; the audit carrier has a queue',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-LambdaAsyncFailureDestination',
    reason:
      'Functions scan for all their work again within a minute or an hour, so lost events need no queue',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-EventBusDLQ',
    reason:
      'The next round of a schedule makes up for a lost event, and also resumes workflows; alarms count failures',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-LambdaEventSourceMappingDestination',
    reason: 'The stream only triggers the function early; once a minute it scans for all its work anyway',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-LambdaTracing',
    at: /^(?!full )/,
    reason: 'AWS charges per trace; the setting tracing enables tracing',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-CFR1',
    reason: 'Workloads call from wherever their region is',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-CFR2',
    reason: 'The setting webLogins.webAclArn names a web ACL, which is created elsewhere',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-CFR3',
    reason: 'Paths may hold role tags: functions log every request without them',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-APIG2',
    reason:
      'Functions validate every request against the endpoint table, and clients understand their errors',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-APIG3',
    reason: 'Only interface endpoints of VPCs reach it; operators may associate a web ACL',
  },
  ...['AwsSolutions-APIG1', 'AwsSolutions-APIG6', 'Serverless-APIGWAccessLogging'].map(rule => ({
    by: 'cdk-nag' as const,
    rule,
    reason: 'REST API logs need an account-wide role; functions log every request',
  })),
  {
    by: 'cdk-nag',
    rule: 'Serverless-APIGWXrayEnabled',
    reason: 'AWS charges per trace; the setting tracing enables those of functions',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-ELB2',
    reason: 'Its log would hold paths, which may be role tags: functions log every request without them',
  },
  {
    by: 'cfn-lint',
    rule: 'W3005',
    reason: 'The CDK adds the dependency twice, so that a function waits for the policies of its role',
  },
  {
    by: 'cfn-lint',
    rule: 'E3002',
    at: /\/Dashboard\w+\/Properties\/Tags$/,
    isOfEarlierVersions: true,
    reason: 'Dashboards support tags since May 2026, which cfn-lint 1.51 does not know',
  },
  {
    by: 'cfn-lint',
    rule: 'E3006',
    at: /\/WebLoginsFunction\w+\/Type$/,
    isOfEarlierVersions: true,
    reason: 'Web Functions are newer than cfn-lint 1.51',
  },
]

/** Returns the rows that suppress a finding of a template check. */
export const findSuppressions = (by: Suppression['by'], rule: string, where: string): Suppression[] =>
  suppressions.filter(
    one =>
      one.by === by &&
      (one.rule === rule || rule.startsWith(`${one.rule}[`)) &&
      (one.at?.test(where) ?? true),
  )
