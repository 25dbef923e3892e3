import { alarmingTexts } from '../../shared/api/alarming.ts'
import type { MetricName } from '../../shared/watching/metrics.ts'
import { EXPIRY_NOTICE_DAYS } from '../../shared/watching/notice.ts'

/** The log events or metrics that an alarm counts. */
export type CountedByAlarm =
  /**
   * log events of the functions that match a filter pattern.
   * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
   */
  | { kind: 'pattern'; pattern: string }
  /** the sum of our own metrics */
  | { kind: 'own'; own: readonly MetricName[] }
  /** a metric of AWS; the stack passes the resource that the metric measures */
  | { kind: 'aws'; aws: string; metric: string; dimension: string; whose: string }

/**
 * An alarm. When it turns on, the alarm notifies the targets in `alarmActionArns`; it turns off without an
 * operator.
 */
export interface AlarmRow {
  counts: CountedByAlarm
  /** description of the alarm for the person on call */
  description: string
  /** the alarm is on if more than `above` is counted in a period; default 0 */
  above?: number
  /** replaces `above`: the alarm is on if the lowest value in a period is below `below` */
  below?: number
  /** seconds; default 300 */
  period?: number
  /** the alarm is on if `count` of the last `periods` periods fulfil its condition; default [1, 1] */
  of?: readonly [count: number, periods: number]
  /** true: the alarm exists with some front ends only */
  ofFronts?: true
}

const ERROR_PLACES = ['$.cause[0]', '$.message.errorMessage', '$.errorMessage']
const errorText = (text: string): string =>
  `{ ${ERROR_PLACES.map(place => `($.level = "ERROR" && ${place} = "${text}")`).join(' || ')} }`
const messages = (...texts: readonly string[]): string =>
  `{ ${texts.map(text => `$.message = "${text}"`).join(' || ')} }`

const MINUTE = 60
const HOUR = 3600

const lambda = (metric: string, whose: string) =>
  ({ kind: 'aws', aws: 'AWS/Lambda', metric, dimension: 'FunctionName', whose }) as const

const gateway = (whose: string) =>
  ({ kind: 'aws', aws: 'AWS/ApiGateway', metric: '5xx', dimension: 'ApiId', whose }) as const

/** The alarms, one row for each. An alarm's anchor in docs/do/troubleshooting.md is its name. */
export const alarmRows = {
  ServerErrors: {
    counts: gateway('the API'),
    description: 'The API answers with 5xx: the log lines of these requests name the causes',
    above: 10,
    of: [2, 3],
  },
  LinkErrors: {
    counts: gateway('the API for other clusters'),
    description:
      'The link answers other clusters of the DR set with 5xx: the log lines of these calls name the causes',
    above: 10,
    of: [2, 3],
    ofFronts: true,
  },
  BalancerErrors: {
    counts: {
      kind: 'aws',
      aws: 'AWS/ApplicationELB',
      metric: 'HTTPCode_ELB_5XX_Count',
      dimension: 'LoadBalancer',
      whose: 'the load balancer',
    },
    description: 'The load balancer itself answers with 5xx, because a function gave no valid answer',
    above: 10,
    of: [2, 3],
    ofFronts: true,
  },
  FunctionFailed: {
    counts: {
      kind: 'pattern',
      // Lambda writes no report line for requests of a Web Function: the program reports errors itself, and
      // Lambda reports only a failed start
      pattern:
        '{ (($.type = "platform.report" || $.type = "platform.initReport") && ($.record.status = "error" || $.record.status = "failure" || $.record.status = "timeout")) || $.message.errorType = "WebFunction.*" }',
    },
    description: 'A function threw, crashed or timed out, or a Web Function did not start: its log says why',
  },
  Throttled: {
    counts: lambda('Throttles', '`login`, `link`, `on-audit-entries`'),
    description: 'Lambda throttles logins, the link, or the function that copies the audit log',
  },
  WorkersThrottled: {
    counts: lambda('Throttles', 'the workers'),
    description: 'Lambda throttles a worker',
  },
  ProviderThrottled: {
    counts: { kind: 'own', own: ['Ec2Throttles', 'IamThrottles', 'StsThrottles', 'OidcThrottles'] },
    description: 'EC2, IAM or STS throttle calls: logins become slow, then fail',
    above: 10,
    of: [2, 3],
  },
  Issuers: {
    counts: { kind: 'own', own: ['IssuerFaults'] },
    description:
      'An issuer of tokens spoke for another account, or keys or an organization map are too old: the log lines name the cause',
  },
  Keyring: {
    counts: { kind: 'pattern', pattern: errorText(`${alarmingTexts.keyring}*`) },
    description: 'KMS does not decrypt the keyring: check the state and the policy of the key',
  },
  Head: {
    counts: { kind: 'pattern', pattern: messages(alarmingTexts.head) },
    description:
      'The head of the journal violates a rule, or a write would have violated one: the log line names the rules and the write',
  },
  Corrupted: {
    counts: {
      kind: 'pattern',
      pattern: messages(alarmingTexts.tree, `${alarmingTexts.items}*`, alarmingTexts.givenUp),
    },
    description: 'The Merkle tree and the tables differ, or items differ from those of the primary',
  },
  Peer: {
    counts: { kind: 'pattern', pattern: messages(alarmingTexts.peer) },
    description: 'Another cluster of the DR set is silent or behind: the log line names it',
    // a cluster reports this fault once a minute; a role change may cause one or two reports
    period: MINUTE,
    of: [3, 10],
  },
  NotReady: {
    counts: { kind: 'own', own: ['NotReady'] },
    description:
      'This secondary cannot be promoted without force: readiness in its status lists the obstacles',
    // the secondary tries this check every ten minutes and after changes, so a first sync or a single failure
    // raises no alarm
    period: 15 * MINUTE,
    of: [2, 3],
  },
  RoleChanged: {
    counts: { kind: 'pattern', pattern: messages(alarmingTexts.role) },
    description:
      'The role of this cluster changed: the log line has the old role, the new role and the operation',
  },
  Licence: {
    counts: { kind: 'own', own: ['LicenceDays'] },
    description: `The licence expires within ${EXPIRY_NOTICE_DAYS} days, or has expired: new secondaries and sets need a valid one`,
    below: EXPIRY_NOTICE_DAYS,
    // measured once an hour
    period: HOUR,
    of: [1, 3],
  },
  Certificate: {
    counts: { kind: 'own', own: ['CertificateDays'] },
    description: `A registered certificate of a mount expires within ${EXPIRY_NOTICE_DAYS} days, or has expired: its owner will soon sign with another key`,
    below: EXPIRY_NOTICE_DAYS,
    period: HOUR,
    of: [1, 3],
  },
  WorkflowFailed: {
    counts: {
      kind: 'aws',
      aws: 'AWS/Events',
      metric: 'Invocations',
      dimension: 'RuleName',
      whose: 'the rule `workflow ends`',
    },
    description:
      'A workflow failed, was stopped or timed out: the log of on-journal names it, status has the error of its operation',
  },
  Initialised: {
    counts: lambda('Invocations', '`init`'),
    description: 'Somebody invoked the function that initialises the cluster',
  },
  RootGeneration: {
    counts: lambda('Invocations', '`generate-root`'),
    description: 'Somebody makes a root token from recovery shares, or tries to',
  },
  OperationToken: {
    counts: {
      kind: 'pattern',
      pattern:
        '{ $.message.audit = "response" && $.message.request.path = "sys/replication/dr/secondary/generate-operation-token/update" && $.message.response.data.complete IS TRUE }',
    },
    description: 'Holders of recovery shares made a DR operation token',
  },
  Undelivered: {
    counts: {
      kind: 'aws',
      aws: 'AWS/SQS',
      metric: 'ApproximateNumberOfMessagesVisible',
      dimension: 'QueueName',
      whose: 'undelivered audit entries',
    },
    description: 'Audit entries wait in the queue, because they could not be copied to the audit log',
  },
  Lost: {
    counts: lambda('DeadLetterErrors', '`on-audit-entries`'),
    description:
      'Audit entries reached neither the audit log nor the queue: only the log group of the functions still has them',
  },
} as const satisfies Record<string, AlarmRow>

export type AlarmName = keyof typeof alarmRows

/** Returns the row of an alarm with its optional columns. */
export const rowOfAlarm = (name: AlarmName): AlarmRow => alarmRows[name]

export const alarmNames = Object.keys(alarmRows) as AlarmName[]

/** Alarms that exist with some front ends only. */
export type FrontAlarm = {
  [Name in AlarmName]: (typeof alarmRows)[Name] extends { ofFronts: true } ? Name : never
}[AlarmName]

/** Alarms of every deployment. */
export type CommonAlarm = Exclude<AlarmName, FrontAlarm>

const isCommon = (name: AlarmName): name is CommonAlarm => !rowOfAlarm(name).ofFronts

export const commonAlarms = alarmNames.filter(isCommon)

/** Returns the name of an alarm in CloudWatch. */
export const alarmNameInStage = (name: AlarmName, stage: string): string => `cloud-auth-${stage}-${name}`

/** Returns the link to the section on an alarm in the troubleshooting page. */
export const alarmPageLink = (name: AlarmName): string => `docs/do/troubleshooting.md#${name.toLowerCase()}`
