import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { EndpointUse } from '../../shared/api/endpoint.ts'
import { tableGuards } from '../../shared/storage/guards.ts'
import {
  entryPartitionPatterns,
  guardedPartitionPatterns,
  journalPartitionPatterns,
  treePartitionPattern,
} from '../../shared/storage/partition-patterns.ts'
import type { StorageResources } from './storage.ts'

/** ARNs that the grants refer to. */
export interface PolicyGrantScope {
  store: StorageResources
  assumableRoleArns: readonly string[]
  /** ARN of the Lambda function that runs background jobs */
  workerArn: string
  /** ARN of the Lambda function that pulls from the primary */
  pullArn: string
  /** ARNs of the state machines that the function starts and resumes */
  workflows: readonly string[]
  /** ARN of the audit log's log group */
  auditArn: string
  /** ARN of the default event bus */
  busArn: string
}

const allow = (actions: string[], resources: string[], conditions: object = {}): PolicyStatement =>
  new PolicyStatement({ actions, resources, conditions: { ...conditions } })

/**
 * Returns a condition on a multi-valued request key. The `Null` test is needed, because ForAllValues also holds when
 * the key is absent.
 */
const onlyValues = (test: string, values: Readonly<Record<string, readonly string[]>>): object => ({
  [`ForAllValues:${test}`]: values,
  Null: Object.fromEntries(Object.keys(values).map(name => [name, 'false'])),
})

const LEADING = 'dynamodb:LeadingKeys'
const within = (patterns: readonly string[]) => onlyValues('StringLike', { [LEADING]: patterns })
const outside = (patterns: readonly string[]) => onlyValues('StringNotLike', { [LEADING]: patterns })

type Act = 'stores' | 'deletes'
type Table = Parameters<typeof guardedPartitionPatterns>[0]

/** Returns a predicate that reports whether a table guard lets a use store, or delete, items. */
const opens = (use: EndpointUse, act: Act) => (guard: keyof typeof tableGuards) => {
  const uses: readonly EndpointUse[] = tableGuards[guard][act]
  return uses.includes(use)
}

/** Returns the guarded partitions of a table in which a use may store, or delete. */
const openTo = (use: EndpointUse, act: Act, table: Table): string[] =>
  guardedPartitionPatterns(table, opens(use, act))

/** Returns the guarded partitions in which `write` may not store, or delete. */
const closedTo = (act: Act, table: Table): string[] => {
  const isOpen = opens('write', act)
  return guardedPartitionPatterns(table, guard => !isOpen(guard))
}

const tokens = openTo('mint', 'stores', 'data')

/** Attributes that decrementing a token's remaining uses may touch. The token's data is in other attributes. */
const counted = ['pk', 'sk', 'rev', 'uses', 'pos', 'leaf', 'bucket', 'ttl']

/**
 * Allows writes to the journal. Every use that writes items needs this statement while a cluster keeps a
 * journal.
 */
const journal = (store: StorageResources): PolicyStatement =>
  allow(
    ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
    [store.cluster.tableArn],
    within(journalPartitionPatterns),
  )

/** Allows stores and deletes in the cluster table where the table guards permit them. */
const owned = (use: EndpointUse, store: StorageResources): PolicyStatement[] => [
  allow(['dynamodb:PutItem'], [store.cluster.tableArn], within(openTo(use, 'stores', 'cluster'))),
  allow(['dynamodb:DeleteItem'], [store.cluster.tableArn], within(openTo(use, 'deletes', 'cluster'))),
]

/** Allows a use to read and store its partitions of the ceremony table. */
const slotOf = (use: EndpointUse, { ceremony }: StorageResources): PolicyStatement[] => [
  allow(
    ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
    [ceremony.tableArn],
    within(openTo(use, 'stores', 'ceremony')),
  ),
]

const assume = (roles: readonly string[]): PolicyStatement => allow(['sts:AssumeRole'], [...roles])

/**
 * IAM statements of each declared use. DescribeInstances and the IAM read actions support no narrower
 * resource.
 */
const granted: Record<EndpointUse, (scope: PolicyGrantScope) => PolicyStatement[]> = {
  read: ({ store }) => [
    allow(['dynamodb:BatchGetItem', 'dynamodb:Query'], [store.data.tableArn, store.cluster.tableArn]),
    allow(['dynamodb:PutItem'], [store.cluster.tableArn], within(openTo('read', 'stores', 'cluster'))),
    allow(
      ['kms:Decrypt'],
      [store.key.keyArn],
      onlyValues('StringEquals', { 'kms:EncryptionContextKeys': ['keyring'] }),
    ),
  ],
  spend: ({ store }) => [
    allow(['dynamodb:UpdateItem'], [store.data.tableArn], {
      ...onlyValues('StringLike', { [LEADING]: tokens, 'dynamodb:Attributes': counted }),
      StringEqualsIfExists: { 'dynamodb:ReturnValues': ['NONE'] },
    }),
    allow(['dynamodb:DeleteItem'], [store.data.tableArn], within(openTo('spend', 'deletes', 'data'))),
    journal(store),
  ],
  mint: ({ store }) => [allow(['dynamodb:PutItem'], [store.data.tableArn], within(tokens))],
  write: ({ store }) => [
    allow(['dynamodb:PutItem'], [store.data.tableArn], outside(closedTo('stores', 'data'))),
    allow(['dynamodb:DeleteItem'], [store.data.tableArn], outside(closedTo('deletes', 'data'))),
    allow(
      ['dynamodb:PutItem'],
      [store.cluster.tableArn],
      outside([...closedTo('stores', 'cluster'), ...journalPartitionPatterns]),
    ),
    allow(
      ['dynamodb:DeleteItem'],
      [store.cluster.tableArn],
      outside([...closedTo('deletes', 'cluster'), ...journalPartitionPatterns]),
    ),
  ],
  scan: ({ store }) => [allow(['dynamodb:Scan'], [store.data.tableArn])],
  sweep: ({ store }) => [
    allow(['dynamodb:Query'], [`${store.data.tableArn}/index/expiry`]),
    allow(['dynamodb:DeleteItem'], [store.cluster.tableArn], within([treePartitionPattern])),
  ],
  ending: ({ store }) => [
    allow(['dynamodb:PutItem'], [store.data.tableArn], within(openTo('ending', 'stores', 'data'))),
    allow(['dynamodb:PutItem'], [store.cluster.tableArn], within(openTo('ending', 'stores', 'cluster'))),
    journal(store),
  ],
  instances: ({ assumableRoleArns }) => [allow(['ec2:DescribeInstances'], ['*']), assume(assumableRoleArns)],
  principals: ({ assumableRoleArns }) => [
    allow(['iam:GetInstanceProfile', 'iam:GetRole', 'iam:GetUser'], ['*']),
    assume(assumableRoleArns),
  ],
  organizations: ({ assumableRoleArns }) => [
    allow(
      [
        'organizations:DescribeOrganization',
        'organizations:ListAccountsForParent',
        'organizations:ListOrganizationalUnitsForParent',
        'organizations:ListRoots',
      ],
      ['*'],
    ),
    assume(assumableRoleArns),
  ],
  // the caller or the configured key signs these calls, so the function's role needs no permission
  'caller-identity': () => [],
  'issuer-keys': () => [],
  'access-keys': () => [],
  // this cluster's own key signs calls to other clusters, so the role needs no permission
  peers: () => [],
  pull: ({ pullArn }) => [allow(['lambda:InvokeFunction'], [pullArn])],
  events: ({ busArn }) => [
    allow(['events:PutEvents'], [busArn], { StringEquals: { 'events:source': 'cloud-auth' } }),
  ],
  background: ({ workerArn }) => [allow(['lambda:InvokeFunction'], [workerArn])],
  workflow: ({ workflows }) => [allow(['states:SendTaskSuccess', 'states:StartExecution'], [...workflows])],
  'key-factory': ({ store }) => [
    allow(
      ['kms:GenerateDataKey'],
      [store.key.keyArn],
      onlyValues('StringEquals', { 'kms:EncryptionContextKeys': ['keyring'] }),
    ),
    allow(['dynamodb:PutItem'], [store.data.tableArn], within(openTo('key-factory', 'stores', 'data'))),
    allow(['dynamodb:PutItem'], [store.cluster.tableArn], within(openTo('key-factory', 'stores', 'cluster'))),
  ],
  recovery: ({ store }) => [
    allow(['dynamodb:PutItem'], [store.data.tableArn], within(openTo('recovery', 'stores', 'data'))),
  ],
  role: ({ store }) => [
    allow(['dynamodb:PutItem'], [store.cluster.tableArn], within(openTo('role', 'stores', 'cluster'))),
  ],
  ceremony: ({ store }) => slotOf('ceremony', store),
  rekey: ({ store }) => slotOf('rekey', store),
  'operation-token': ({ store }) => [
    allow(
      ['dynamodb:BatchGetItem', 'dynamodb:DeleteItem'],
      [store.ceremony.tableArn],
      within(openTo('operation-token', 'deletes', 'ceremony')),
    ),
  ],
  link: ({ store }) => [
    ...owned('link', store),
    allow(['dynamodb:PutItem'], [store.data.tableArn], within(openTo('link', 'stores', 'data'))),
  ],
  journal: ({ store }) => [journal(store), allow(['dynamodb:Query'], [`${store.data.tableArn}/index/tree`])],
  apply: ({ store }) => [
    allow(
      ['dynamodb:ConditionCheckItem', 'dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:Scan'],
      [store.data.tableArn],
    ),
    ...owned('apply', store),
    allow(['dynamodb:BatchWriteItem'], [store.cluster.tableArn], within(entryPartitionPatterns)),
  ],
  // the function reads CA certificates from files in its bundle, so the role needs no permission
  authorities: () => [],
  licence: () => [],
  'audit-log': ({ auditArn }) => [allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [auditArn])],
}

/** Returns all statements of a set of uses, without duplicates. */
export function buildPolicyStatements(
  uses: readonly EndpointUse[],
  scope: PolicyGrantScope,
): PolicyStatement[] {
  const all = uses.flatMap(use => granted[use](scope))
  return [...new Map(all.map(statement => [JSON.stringify(statement.toStatementJson()), statement])).values()]
}
