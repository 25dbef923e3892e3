import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Use } from '../../shared/api/endpoint.ts'
import { guards } from '../../shared/storage/guards.ts'
import {
  entryPartitions,
  guardedPartitions,
  journalPartitions,
  treePartitions,
} from '../../shared/storage/partition-patterns.ts'
import type { Storage } from './storage.ts'

/** What grants are made for. */
export interface GrantScope {
  store: Storage
  assumableRoleArns: readonly string[]
  /** ARN of the Lambda that runs background jobs */
  workerArn: string
  /** ARN of the Lambda that fetches what the primary has */
  pullArn: string
  /** ARNs of the state machines that the function starts, and whose executions it has go on */
  workflows: readonly string[]
  /** ARN of the log group of the audit log */
  auditArn: string
  /** ARN of the default event bus */
  busArn: string
}

const allow = (actions: string[], resources: string[], conditions: object = {}): PolicyStatement =>
  new PolicyStatement({ actions, resources, conditions: { ...conditions } })

/** A condition on a multi-valued key of the request. ForAllValues alone would hold for a request without the key. */
const onlyValues = (test: string, values: Readonly<Record<string, readonly string[]>>): object => ({
  [`ForAllValues:${test}`]: values,
  Null: Object.fromEntries(Object.keys(values).map(name => [name, 'false'])),
})

const LEADING = 'dynamodb:LeadingKeys'
const within = (patterns: readonly string[]) => onlyValues('StringLike', { [LEADING]: patterns })
const outside = (patterns: readonly string[]) => onlyValues('StringNotLike', { [LEADING]: patterns })

type Act = 'stores' | 'deletes'
type Table = Parameters<typeof guardedPartitions>[0]

/** Whose guard lets a use store, or delete. */
const opens = (use: Use, act: Act) => (guard: keyof typeof guards) => {
  const uses: readonly Use[] = guards[guard][act]
  return uses.includes(use)
}

/** The guarded partitions of a table in which a use may store, or delete. */
const openTo = (use: Use, act: Act, table: Table): string[] => guardedPartitions(table, opens(use, act))

/** Those in which `write` may not. */
const closedTo = (act: Act, table: Table): string[] => {
  const isOpen = opens('write', act)
  return guardedPartitions(table, guard => !isOpen(guard))
}

const tokens = openTo('mint', 'stores', 'data')

/** The attributes that taking a use of a token may name; all of them stand beside the token's data. */
const counted = ['pk', 'sk', 'rev', 'uses', 'pos', 'leaf', 'bucket', 'ttl']

/** Whoever writes at all writes to the journal as well, while one is kept. */
const journal = (store: Storage): PolicyStatement =>
  allow(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [store.cluster.tableArn], within(journalPartitions))

/** Storing and deleting in the table `cluster`, each where the guards say. */
const owned = (use: Use, store: Storage): PolicyStatement[] => [
  allow(['dynamodb:PutItem'], [store.cluster.tableArn], within(openTo(use, 'stores', 'cluster'))),
  allow(['dynamodb:DeleteItem'], [store.cluster.tableArn], within(openTo(use, 'deletes', 'cluster'))),
]

/** Keeping an attempt: reading and storing what the guards open to a use in the table `ceremony`, and nothing beside it. */
const slotOf = (use: Use, { ceremony }: Storage): PolicyStatement[] => [
  allow(
    ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
    [ceremony.tableArn],
    within(openTo(use, 'stores', 'ceremony')),
  ),
]

const assume = (roles: readonly string[]): PolicyStatement => allow(['sts:AssumeRole'], [...roles])

/** What each declared use comes to. DescribeInstances and the IAM look-ups know no narrower resource. */
const granted: Record<Use, (scope: GrantScope) => PolicyStatement[]> = {
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
      outside([...closedTo('stores', 'cluster'), ...journalPartitions]),
    ),
    allow(
      ['dynamodb:DeleteItem'],
      [store.cluster.tableArn],
      outside([...closedTo('deletes', 'cluster'), ...journalPartitions]),
    ),
  ],
  scan: ({ store }) => [allow(['dynamodb:Scan'], [store.data.tableArn])],
  sweep: ({ store }) => [
    allow(['dynamodb:Query'], [`${store.data.tableArn}/index/expiry`]),
    allow(['dynamodb:DeleteItem'], [store.cluster.tableArn], within([treePartitions])),
  ],
  instances: ({ assumableRoleArns }) => [allow(['ec2:DescribeInstances'], ['*']), assume(assumableRoleArns)],
  principals: ({ assumableRoleArns }) => [
    allow(['iam:GetInstanceProfile', 'iam:GetRole', 'iam:GetUser'], ['*']),
    assume(assumableRoleArns),
  ],
  // signed by the caller, or by the configured key: nothing of ours is needed
  'caller-identity': () => [],
  'access-keys': () => [],
  // what another cluster is asked is signed by this one's own key
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
    allow(['dynamodb:BatchWriteItem'], [store.cluster.tableArn], within(entryPartitions)),
  ],
  // a file beside the code
  authorities: () => [],
  licence: () => [],
  'audit-log': ({ auditArn }) => [allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [auditArn])],
}

/** All statements for a set of uses, each once. */
export function buildStatements(uses: readonly Use[], scope: GrantScope): PolicyStatement[] {
  const all = uses.flatMap(use => granted[use](scope))
  return [...new Map(all.map(statement => [JSON.stringify(statement.toStatementJson()), statement])).values()]
}
