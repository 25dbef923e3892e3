/** A saved query over a log group. */
export interface SavedLogQuery {
  /** name of the log group: the functions' log group, or the audit log */
  group: 'functions' | 'audit'
  /** the question that the query answers */
  answers: string
  /**
   * CloudWatch Logs Insights query, one command per line.
   * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html
   */
  query: readonly string[]
}

/** CloudWatch Logs Insights filter for granted logins in the audit log. */
const GRANTED = [
  'filter audit = "response" and request.path like /\\/login$/ and ispresent(response.auth.accessor)',
]

/** The saved queries, by their name in the AWS console. */
export const savedLogQueries = {
  'failed requests': {
    group: 'functions',
    answers: 'failed requests (5xx) with causes',
    query: [
      'fields @timestamp, operation, status, code, why, cause.0, cause.1, id',
      'filter message = "request" and status >= 500',
      'sort @timestamp desc',
      'limit 100',
    ],
  },
  'refused logins': {
    group: 'functions',
    answers: 'refused logins by mount and rule',
    query: [
      'filter message = "request" and outcome != "granted" and ispresent(outcome)',
      'stats count(*) as logins by type, outcome, reason, why, mount',
      'sort logins desc',
    ],
  },
  'slow logins': {
    group: 'functions',
    answers: 'duration of logins, and their calls to AWS',
    query: [
      'filter message = "request" and ispresent(outcome)',
      'stats count(*) as logins, pct(milliseconds, 50) as half, pct(milliseconds, 99) as slowest, sum(calls.ec2) as ec2, sum(calls.sts) as sts, sum(calls.dynamodb) as tables by bin(5m)',
    ],
  },
  'calls of AWS that failed': {
    group: 'functions',
    answers: 'throttled and failed EC2/IAM/STS calls',
    query: [
      'filter message = "request"',
      'stats sum(Ec2Throttles) as ec2_throttled, sum(IamThrottles) as iam_throttled, sum(StsThrottles) as sts_throttled, sum(Ec2Failures) as ec2_failed, sum(IamFailures) as iam_failed, sum(StsFailures) as sts_failed by bin(5m)',
    ],
  },
  'what went wrong': {
    group: 'functions',
    answers: 'warnings and errors by function, message',
    query: [
      'filter level = "ERROR" or level = "WARN"',
      'stats count(*) as lines, latest(@timestamp) as last by service, level, message',
      'sort last desc',
    ],
  },
  'how far replication is': {
    group: 'functions',
    answers: 'lag, heartbeat age, position by minute',
    query: [
      'filter message = "replication"',
      'stats max(Lag) as lag, max(HeartbeatAge) as heartbeat_age, max(Frontier) as frontier by bin(1m)',
    ],
  },
  'roles that make tokens': {
    group: 'audit',
    answers: 'roles whose logins made most tokens',
    query: [
      ...GRANTED,
      'fields request.path as mount, coalesce(request.data.role, response.auth.metadata.role, response.auth.metadata.role_id) as role',
      'stats count(*) as logins by mount, role',
      'sort logins desc',
      'limit 50',
    ],
  },
  'mounts that make tokens': {
    group: 'audit',
    answers: 'logins by mount and token type',
    query: [
      ...GRANTED,
      'fields request.path as mount, response.auth.token_type as token',
      'stats count(*) as logins by mount, token',
      'sort logins desc',
      'limit 50',
    ],
  },
  'one request': {
    group: 'audit',
    answers: 'audit entries of an `X-Request-Id`',
    query: ['filter request.id = "<id>"', 'sort @timestamp asc'],
  },
} as const satisfies Record<string, SavedLogQuery>
