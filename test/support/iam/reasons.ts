import type { Reason } from './grants.ts'

const BY_LAMBDA = 'Lambda does it itself in the name of the function’s role'

/** The reasons for grants that no test uses, one row for each kind of grant. */
export const reasons: readonly Reason[] = [
  { elsewhere: true, because: 'a use is granted whole, and other functions that declare it ask for this' },
  {
    action: 'states:SendTaskSuccess',
    because: 'executions that wait are adopted on the host (test/provider/states)',
  },
  {
    action: 'logs:',
    because: `${BY_LAMBDA}; the carrier’s own requests are tested by test/infra/audit-carrier.test.ts`,
  },
  {
    action: 'organizations:',
    because: 'rounds run on an embedded host (test/integration/alone/login/organization-map.test.ts)',
  },
  { action: 'sqs:', because: `${BY_LAMBDA}: it keeps what a function could not take` },
  { action: 'Stream', because: `${BY_LAMBDA}: it reads the stream of a table` },
  { action: 'dynamodb:GetRecords', because: `${BY_LAMBDA}: it reads the stream of a table` },
  { action: 'dynamodb:GetShardIterator', because: `${BY_LAMBDA}: it reads the stream of a table` },
]
