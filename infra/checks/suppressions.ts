/** A finding that is kept, and why. */
export interface Suppression {
  by: 'cdk-nag' | 'cfn-lint'
  /** its name, or the name before what it has in brackets */
  rule: string
  /** what of is kept, in the path or the logical id of the resource; absent: all */
  at?: RegExp
  reason: string
}

/** Resources that the CDK makes to bring the code of a Web Function to where Lambda looks for it. */
const OF_WEB_CODE = /^web .*(?:S3ObjectCopy|WebFunctionAssetBucket)/
const WEB_CODE = 'The CDK makes it beside a Web Function, with nothing in it but our code'

export const suppressions: readonly Suppression[] = [
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Resource::*]',
    reason:
      'DescribeInstances, look-ups of IAM, ListStreams, DescribeAlarms and traces know no narrower resource; docs/permissions.md lists them, and a test holds the list',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Resource::arn:*:iam::*:role/cloud-auth-*]',
    reason:
      'Roles of satellite accounts are not known here: the setting assumableRoleArns narrows them, and their trust decides',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Action::kms:GenerateDataKey*]',
    at: /^full /,
    reason: "DynamoDB asks for it in the caller's name, through itself alone, and AWS names it so",
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-IAM5[Action::kms:ReEncrypt*]',
    at: /^full /,
    reason: "DynamoDB asks for it in the caller's name, through itself alone, and AWS names it so",
  },
  { by: 'cdk-nag', rule: 'AwsSolutions-IAM5', at: OF_WEB_CODE, reason: WEB_CODE },
  { by: 'cdk-nag', rule: 'AwsSolutions-IAM4', at: OF_WEB_CODE, reason: WEB_CODE },
  { by: 'cdk-nag', rule: 'AwsSolutions-S1', at: OF_WEB_CODE, reason: WEB_CODE },
  { by: 'cdk-nag', rule: 'Serverless-LambdaDefaultMemorySize', at: OF_WEB_CODE, reason: WEB_CODE },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-SQS4',
    reason:
      'Lambda alone sends to it, and operators read it by clients of AWS, which speak TLS; nobody else is granted anything',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-SQSRedrivePolicy',
    reason: 'It is itself where goes what could not be delivered, and has an alarm',
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
      'Callers wait for the answer, and what schedules, streams and workflows tell is looked for again within a minute or an hour; the carrier of audit entries has a queue',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-LambdaAsyncFailureDestination',
    reason:
      'What events of schedules and functions tell is looked for again within a minute or an hour: nobody would read a queue of them',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-EventBusDLQ',
    reason:
      'The next round of a schedule does what this one did not, and looks after workflows, too; alarms count what failed',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-LambdaEventSourceMappingDestination',
    reason: 'The stream only wakes: once a minute its function looks for everything all the same',
  },
  {
    by: 'cdk-nag',
    rule: 'Serverless-LambdaTracing',
    at: /^(?!full )/,
    reason: 'Traces are paid for one by one: the setting tracing switches them on',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-CFR1',
    reason: 'Workloads call from wherever their region is',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-CFR2',
    reason: 'The setting webLogins.webAclArn names a web ACL, which is made and paid for elsewhere',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-CFR3',
    reason: 'Paths may hold role tags: functions log every request without them',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-APIG2',
    reason: 'Functions check every request by the table of endpoints, with answers that clients understand',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-APIG3',
    reason: 'Interface endpoints of VPCs alone reach it; whoever wants a web ACL associates one',
  },
  ...['AwsSolutions-APIG1', 'AwsSolutions-APIG6', 'Serverless-APIGWAccessLogging'].map(rule => ({
    by: 'cdk-nag' as const,
    rule,
    reason:
      'Logs of a REST API need a role that an account has once for all its REST APIs; functions log every request',
  })),
  {
    by: 'cdk-nag',
    rule: 'Serverless-APIGWXrayEnabled',
    reason: 'Traces are paid for one by one: the setting tracing switches on those of functions',
  },
  {
    by: 'cdk-nag',
    rule: 'AwsSolutions-ELB2',
    reason: 'Its log would hold paths, which may be role tags: functions log every request without them',
  },
  {
    by: 'cfn-lint',
    rule: 'W3005',
    reason: 'The CDK writes the order down twice, so that a function waits for the policies of its role',
  },
  {
    by: 'cfn-lint',
    rule: 'E3002',
    at: /\/Dashboard\w+\/Properties\/Tags$/,
    reason: 'Dashboards have tags since May 2026, which this version of cfn-lint does not know',
  },
  {
    by: 'cfn-lint',
    rule: 'E3006',
    at: /\/WebLoginsFunction\w+\/Type$/,
    reason: 'Web Functions are younger than what this version of cfn-lint knows',
  },
]

/** The rows that keep a finding. */
export const keeping = (by: Suppression['by'], rule: string, where: string): Suppression[] =>
  suppressions.filter(
    one =>
      one.by === by &&
      (one.rule === rule || rule.startsWith(`${one.rule}[`)) &&
      (one.at?.test(where) ?? true),
  )
