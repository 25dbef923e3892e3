import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Use } from '../../shared/api/endpoint.ts'
import type { DataStack } from '../stacks/data.ts'

/** What grants are made for. */
export interface GrantScope {
  store: DataStack
  assumableRoleArns: readonly string[]
  /** ARN of the Lambda that runs background jobs */
  workerArn: string
  /** ARN of the log group of the audit log */
  auditArn: string
}

const allow = (actions: string[], resources: string[]): PolicyStatement =>
  new PolicyStatement({ actions, resources })

const assume = (roles: readonly string[]): PolicyStatement => allow(['sts:AssumeRole'], [...roles])

/** What each declared use comes to. DescribeInstances and the IAM look-ups know no narrower resource. */
const granted: Record<Use, (scope: GrantScope) => PolicyStatement[]> = {
  read: ({ store }) => [
    allow(['dynamodb:BatchGetItem', 'dynamodb:Query'], [store.data.tableArn, store.cluster.tableArn]),
    new PolicyStatement({
      actions: ['kms:Decrypt'],
      resources: [store.key.keyArn],
      conditions: { 'ForAllValues:StringEquals': { 'kms:EncryptionContextKeys': ['keyring'] } },
    }),
  ],
  spend: ({ store }) => [
    new PolicyStatement({
      actions: ['dynamodb:DeleteItem', 'dynamodb:PutItem'],
      resources: [store.data.tableArn],
      conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['token#*'] } },
    }),
  ],
  write: ({ store }) => [
    allow(
      ['dynamodb:ConditionCheckItem', 'dynamodb:DeleteItem', 'dynamodb:PutItem'],
      [store.data.tableArn, store.cluster.tableArn],
    ),
  ],
  scan: ({ store }) => [allow(['dynamodb:Scan'], [store.data.tableArn])],
  sweep: ({ store }) => [allow(['dynamodb:Query'], [`${store.data.tableArn}/index/expiry`])],
  instances: ({ assumableRoleArns }) => [allow(['ec2:DescribeInstances'], ['*']), assume(assumableRoleArns)],
  principals: ({ assumableRoleArns }) => [
    allow(['iam:GetInstanceProfile', 'iam:GetRole', 'iam:GetUser'], ['*']),
    assume(assumableRoleArns),
  ],
  // signed by the caller, or by the configured key: nothing of ours is needed
  'caller-identity': () => [],
  'access-keys': () => [],
  background: ({ workerArn }) => [allow(['lambda:InvokeFunction'], [workerArn])],
  genesis: ({ store }) => [allow(['kms:GenerateDataKey'], [store.key.keyArn])],
  'audit-log': ({ auditArn }) => [allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [auditArn])],
}

/** All statements for a set of uses, each once. */
export function statementsFor(uses: readonly Use[], scope: GrantScope): PolicyStatement[] {
  const covered: Use[] = uses.includes('write') ? ['spend'] : []
  const all = uses.filter(use => !covered.includes(use)).flatMap(use => granted[use](scope))
  return [...new Map(all.map(statement => [JSON.stringify(statement.toStatementJson()), statement])).values()]
}
