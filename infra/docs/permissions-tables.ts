import { readFileSync } from 'node:fs'
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type EndpointUse, endpointUses } from '../../shared/api/endpoint.ts'
import { ATTEMPT_WORKFLOW } from '../../shared/ceremony/watch.ts'
import { DRILL_WORKFLOW_NAME, workflowDefinitions } from '../../shared/workers/workflows.ts'
import { declaredUsesOfFunction } from '../build/uses.ts'
import { checkoutRoot } from '../checkout.ts'
import { buildPolicyStatements, type PolicyGrantScope } from '../constructs/grants.ts'

interface Template {
  // biome-ignore lint/suspicious/noExplicitAny: properties differ by type
  Resources: Readonly<Record<string, { Type: string; Properties?: any }>>
}

/** Templates of a cluster by stack name. */
export type StackTemplates = ReadonlyMap<string, Template>

/** A permission: one action on one resource under a condition. */
interface Permission {
  action: string
  resource: string
  /** condition as canonical JSON; empty: no condition */
  condition: string
}

interface Statement {
  Action: string | string[]
  Resource: unknown
  Condition?: Record<string, Record<string, string | string[]>>
}

/** Names of resources by a pattern of their ARN in a template. */
const RESOURCES: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/ClusterStream/, 'the stream of table `cluster`'],
  [/Data[0-9A-F]{8}.*\/index\/(\w+)$/, 'index `$1` of table `data`'],
  [/Data[0-9A-F]{8}/, 'table `data`'],
  [/Cluster[0-9A-F]{8}/, 'table `cluster`'],
  [/Ceremony[0-9A-F]{8}/, 'table `ceremony`'],
  [/Key[0-9A-F]{8}/, 'the keyring’s KMS key'],
  [/Queue[0-9A-F]{8}/, 'the queue of undelivered audit entries'],
  [/Audit[0-9A-F]{8}/, 'the log group of the audit log'],
  [/Logs[0-9A-F]{8}/, 'its log group'],
  [/:function:cloud-auth-\w+-(job|pull)/, 'function `on-$1`'],
  [/^on(\w+)Function[0-9A-F]{8}/, 'function `on-$1`'],
  [/:stateMachine:cloud-auth-[a-z]+-(.+)$/, 'state machine `$1`'],
  [/:event-bus\/default$/, 'the default event bus'],
  [/^(arn:\*:iam::\*:role\/.+)$/, 'roles `$1`'],
  [/^\*$/, 'everything: the action supports no narrower resource'],
]

/** Converts a value of a template to text; references become their names. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(textOf).join('')
  if (typeof value !== 'object' || value === null) return ''
  const [[kind, inner] = ['', undefined]] = Object.entries(value)
  if (kind === 'Fn::Join') return textOf((inner as [string, unknown[]])[1])
  if (kind === 'Fn::GetStackOutput') return JSON.stringify(inner)
  if (kind === 'Fn::GetAtt') return (inner as string[]).join('')
  return textOf(inner)
}

/** Returns the name of a resource. @throws Error if RESOURCES has no name for it */
function nameResource(value: unknown): string {
  const text = textOf(value)
  const found = RESOURCES.map(([pattern, name]) => {
    const [whole, first = ''] = pattern.exec(text) ?? []
    return whole === undefined ? undefined : name.replace('$1', first)
  }).find(Boolean)
  if (found === undefined) throw new Error(`the resource ${text} has no name. Add it to RESOURCES`)
  return found
}

/** Sorts members and values of a condition, so that equal conditions have equal texts. */
function canonicalise(condition: Statement['Condition']): string {
  if (!condition) return ''
  const tests = Object.entries(condition).map(([test, keys]) => [
    test,
    Object.fromEntries(
      Object.entries(keys)
        .map(([name, values]) => [name, [values].flat().toSorted()] as const)
        .toSorted(([a], [b]) => a.localeCompare(b)),
    ),
  ])
  return JSON.stringify(Object.fromEntries(tests.toSorted(([a], [b]) => String(a).localeCompare(String(b)))))
}

const permissionsIn = ({ Action, Resource, Condition }: Statement): Permission[] =>
  [Action].flat().flatMap(action =>
    [Resource].flat().map(resource => ({
      action,
      resource: nameResource(resource),
      condition: canonicalise(Condition),
    })),
  )

const nameOf = ({ action, resource, condition }: Permission): string =>
  JSON.stringify([action, resource, condition])

const machine = (name: string): string => `:stateMachine:cloud-auth-docs-${name}`

/** ARNs for grants, in a form that `readable` recognises. */
const scope: PolicyGrantScope = {
  store: {
    data: { tableArn: 'Data00000000', tableName: '' },
    cluster: { tableArn: 'Cluster00000000', tableName: '' },
    ceremony: { tableArn: 'Ceremony00000000', tableName: '' },
    key: { keyArn: 'Key00000000' },
  },
  assumableRoleArns: ['arn:*:iam::*:role/cloud-auth-*'],
  workerArn: ':function:cloud-auth-docs-job',
  pullArn: ':function:cloud-auth-docs-pull',
  workflows: [...Object.keys(workflowDefinitions), ATTEMPT_WORKFLOW, DRILL_WORKFLOW_NAME].map(machine),
  auditArn: 'Audit00000000',
  busArn: ':event-bus/default',
}

/** Reasons of permissions that belong to no declared use, by action and, if needed, resource. */
const BESIDE: Readonly<Record<string, string>> = {
  'logs:CreateLogStream its log group':
    'writes its log, from which audit entries are copied to the audit log',
  'logs:PutLogEvents its log group': 'writes its log, from which audit entries are copied to the audit log',
  'sqs:SendMessage': 'Lambda keeps undelivered audit entries there',
  'dynamodb:DescribeStream': 'Lambda reads the stream that wakes it',
  'dynamodb:GetRecords': 'Lambda reads the stream that wakes it',
  'dynamodb:GetShardIterator': 'Lambda reads the stream that wakes it',
  'dynamodb:ListStreams': 'Lambda reads the stream that wakes it',
  'lambda:InvokeFunction': 'invokes the worker for each step',
}

/**
 * Returns a function that looks up a use's purpose: the comment above the use in the list of uses. @throws
 * Error if a use has no comment
 */
function readReasons(): (use: EndpointUse) => string {
  const text = readFileSync(`${checkoutRoot}shared/api/endpoint.ts`, 'utf8')
  const found = new Map(
    [...text.matchAll(/\/\*\* (.+?) \*\/\n {2}'([\w-]+)',/g)].map(([, why = '', use = '']) => [
      use,
      why.replace(/: every .*$/, ''),
    ]),
  )
  for (const use of endpointUses) if (!found.has(use)) throw new Error(`the use ${use} has no comment`)
  return use => found.get(use) ?? ''
}

/** Returns a function that looks up a permission's reasons: the uses that need the permission. */
function reasonsOf(name: string): (permission: Permission) => string {
  const why = readReasons()
  const uses = declaredUsesOfFunction(name).map(use => {
    const statements = buildPolicyStatements([use], scope).map(
      (one: PolicyStatement) => one.toStatementJson() as Statement,
    )
    return [why(use), new Set(statements.flatMap(permissionsIn).map(nameOf))] as const
  })
  return permission => {
    const own = uses.filter(([, all]) => all.has(nameOf(permission))).map(([reason]) => reason)
    const { action, resource } = permission
    const beside = BESIDE[`${action} ${resource}`] ?? BESIDE[action]
    if (own.length === 0 && beside === undefined)
      throw new Error(
        `${name} may do ${action} on ${resource} ${permission.condition}, but no use needs it. Add a reason to BESIDE`,
      )
    return own.length > 0 ? own.join('; ') : (beside ?? '')
  }
}

/** Formats the condition of a permission: the partitions, and other tests. */
function conditionText(condition: string): string {
  if (condition === '') return ''
  const { Null: _, ...tests } = JSON.parse(condition) as Record<string, Record<string, string[]>>
  return Object.entries(tests)
    .flatMap(([test, keys]) =>
      Object.entries(keys).map(([name, values]) => {
        const listed = values.map(one => `\`${one}\``).join(', ')
        const not = test.includes('Not') ? 'not ' : ''
        return name === 'dynamodb:LeadingKeys'
          ? `${not}in partitions ${listed}`
          : `${not}\`${name}\` ${listed}`
      }),
    )
    .join('; ')
}

/** Formats a role's permissions. Actions with the same resource, condition and reason share a line. */
function tableOf(name: string, statements: readonly Statement[]): string {
  const why = reasonsOf(name)
  const rows = statements.flatMap(permissionsIn).map(one => ({ ...one, why: why(one) }))
  const lines = Map.groupBy(rows, one =>
    JSON.stringify([one.resource, conditionText(one.condition), one.why]),
  )
  const text = [...lines].map(([shared, some]) => {
    const [resource, condition, reason] = JSON.parse(shared) as string[]
    const actions = [...new Set(some.map(({ action }) => `\`${action}\``))].toSorted().join(', ')
    return `| ${actions} | ${resource} | ${condition} | ${reason} |`
  })
  return ['| may do | on | where | why |', '|---|---|---|---|', ...text].join('\n')
}

/** Returns the owner of each role, by the role's logical id. */
function ownersIn({ Resources }: Template): Map<string, string> {
  return new Map<string, string>(
    Object.values(Resources).flatMap(({ Type, Properties }) => {
      if (Type === 'AWS::Lambda::Function')
        return [
          [Properties.Role['Fn::GetAtt'][0], Properties.Description.replace('cloud-auth: ', '')] as const,
        ]
      return Type === 'AWS::StepFunctions::StateMachine'
        ? [
            [
              Properties.RoleArn['Fn::GetAtt'][0],
              `state machine ${Properties.StateMachineName.replace(/^cloud-auth-[a-z]+-/, '')}`,
            ] as const,
          ]
        : []
    }),
  )
}

interface Role {
  owner: string
  statements: Statement[]
}

/** Returns the statements of each role of a cluster, in the order of their owners' names. */
function rolesIn(templates: StackTemplates): Role[] {
  const policies = [...templates.values()].flatMap(template => {
    const owners = ownersIn(template)
    return Object.values(template.Resources).flatMap(({ Type, Properties }) =>
      Type === 'AWS::IAM::Policy'
        ? Properties.Roles.map((one: { Ref: string }) => ({
            owner: String(owners.get(one.Ref) ?? one.Ref),
            statements: Properties.PolicyDocument.Statement as Statement[],
          }))
        : [],
    ) as Role[]
  })
  return [...Map.groupBy(policies, one => one.owner)]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([owner, all]) => ({ owner, statements: all.flatMap(one => one.statements) }))
}

/** Returns all permissions with their reasons, a section for each role. */
export const renderPermissionSections = (templates: StackTemplates): string =>
  `# What each function may do, and why\n\n${rolesIn(templates)
    .map(({ owner, statements }) => `## ${owner}\n\n${tableOf(owner, statements)}\n`)
    .join('\n')}`

/** Maximum number of role names to list. A longer list of holders is shown as a count. */
const MAX_NAMED = 8

/**
 * Returns the roles that hold each permission, the rarest permission first. Permissions with the same holders
 * and condition share a line.
 */
function holdersTable(templates: StackTemplates): string {
  const permissions = rolesIn(templates).flatMap(({ owner, statements }) =>
    statements.flatMap(permissionsIn).map(one => ({ ...one, owner })),
  )
  const holders = Map.groupBy(permissions, nameOf)
  const held = [...holders.values()].map(some => {
    const owners = [...new Set(some.map(({ owner }) => owner))]
    const { action, resource, condition } = some[0] as Permission
    return { action, resource, where: conditionText(condition), owners }
  })
  const byResource = Map.groupBy(held, one => JSON.stringify([one.owners, one.where, one.resource]))
  const grouped = [...byResource.values()].map(some => ({
    ...(some[0] as (typeof held)[number]),
    actions: some
      .map(({ action }) => `\`${action}\``)
      .toSorted()
      .join(', '),
  }))
  const lines = Map.groupBy(grouped, one => JSON.stringify([one.owners, one.where, one.actions]))
  return [...lines.values()]
    .map(some => ({
      ...(some[0] as (typeof grouped)[number]),
      on: some.map(({ resource }) => resource).join(', '),
    }))
    .toSorted((a, b) => a.owners.length - b.owners.length)
    .map(({ actions, on, where, owners }) => {
      const who = owners.length > MAX_NAMED ? `${owners.length} functions` : owners.join(', ')
      return `| ${actions} | ${on}${where && `: ${where}`} | ${who} |`
    })
    .join('\n')
}

/** Returns the text of the documentation page on permissions. */
export const renderPermissionsPage = (templates: StackTemplates): string => `# What each function may do

For reviewers of security, and for administrators who set a permissions boundary. Each Lambda function and each state machine has a role of
its own, without managed policies. Grants follow from the uses that endpoints and workers declare, so a function can do nothing else.

\`npm run permissions\` writes all permissions of each role, with their conditions and reasons, to \`.build/permissions.md\`. It also writes this page
from the templates. Tests compare the page, compare the policies with what functions are given to call, and judge by these policies what
functions ask AWS for ([tests](do/run-tests.md#permissions-in-tests)). Partitions are those of items whose writing is guarded:
[storage](spec/storage.md). Settings add to this: [customer keys](do/construct.md#keys) add \`kms:Decrypt\` and others through DynamoDB and SQS;
[canaries](do/construct.md#canaries) add a role of CodeDeploy, which reads alarms and moves the aliases.

| may do | on | who |
|---|---|---|
${holdersTable(templates)}
`
