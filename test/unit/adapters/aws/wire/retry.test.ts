import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createRetryCall } from '../../../../../shared/adapters/aws/wire/retry.ts'
import { AwsServiceError } from '../../../../../shared/adapters/aws/wire/service-error.ts'
import { type Calling, type Engine, sdkCalls, wireCalls } from './sdk-tables.ts'

const put = { Put: { TableName: 'data', Item: { pk: 'a', sk: '1' } } }
/**
 * The SDK makes a transaction token if none is given; our client makes no token
 * (`transaction-tokens.test.ts`).
 */
const calls = [
  ['PutItem', put.Put],
  ['TransactWriteItems', { TransactItems: [put], ClientRequestToken: 'once' }],
] as const

const broken = (code: string) => Object.assign(new Error('broken'), { code })
const reasons = { CancellationReasons: [{ Code: 'TransactionConflict' }, { Code: 'None' }] }

const failures: [string, () => { status: number; text: string }][] = [
  ...[
    'ECONNRESET',
    'EPIPE',
    'ECONNREFUSED',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'EWHATEVER',
  ].map((code): [string, () => never] => [
    code,
    () => {
      throw broken(code)
    },
  ]),
  ...(
    [
      [500, 'InternalServerError'],
      [502, 'BadGateway'],
      [503, 'ServiceUnavailable'],
      [504, 'GatewayTimeout'],
      [501, 'NotImplemented'],
      [429, 'Whatever'],
      [400, 'ProvisionedThroughputExceededException'],
      [400, 'RequestLimitExceeded'],
      [400, 'ThrottlingException'],
      [400, 'LimitExceededException'],
      [400, 'TransactionConflictException'],
      [400, 'TransactionCanceledException'],
      [400, 'TransactionInProgressException'],
      [400, 'ReplicatedWriteConflictException'],
      [400, 'ConditionalCheckFailedException'],
      [400, 'ItemCollectionSizeLimitExceededException'],
      [400, 'RequestTimeoutException'],
      [400, 'ResourceNotFoundException'],
      [400, 'ValidationException'],
      [400, 'AccessDeniedException'],
      [400, 'ExpiredTokenException'],
    ] as const
  ).map(([status, type]): [string, () => { status: number; text: string }] => [
    `${status} ${type}`,
    () => {
      const body = { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'said', ...reasons }
      return { status, text: JSON.stringify(body) }
    },
  ]),
]

/**
 * Lets the engine fail some times, then answer.
 * @returns each attempt and each result (ids by order of arrival), and the pauses
 */
async function attempts(
  callsOf: (engine: Engine, most: number) => Calling,
  answer: () => { status: number; text: string },
  times: number,
) {
  const ids = new Map<string, number>()
  const idOf = (id = '') => ids.get(id) ?? ids.set(id, ids.size).size - 1
  const seen: object[] = []
  const call = callsOf(({ operation, input, invocation }) => {
    const { ClientRequestToken: token } = input as { ClientRequestToken?: string }
    seen.push({ operation, call: idOf(invocation), token })
    return seen.length <= times ? answer() : { status: 200, text: '{}' }
  }, 3)
  const told: unknown[] = []
  for (const [operation, input] of calls) {
    told.push(await call(operation, input).then(() => 'done', endOf))
    told.push(seen.splice(0))
  }
  return { told, pauses: pauses.splice(0) }
}

const endOf = (error: Error & { code?: string; $metadata?: { httpStatusCode?: number } }) => ({
  // the SDK reports broken connections as timeouts
  name: error.code === undefined ? error.name : 'broken',
  message: error.message,
  code: error.code,
  status: error.$metadata?.httpStatusCode,
})

let pauses: number[] = []
beforeEach(() => {
  pauses = []
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  const now = globalThis.setTimeout
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms = 0) => {
    pauses.push(ms)
    return now(work, 0)
  }) as never)
})
afterEach(() => void vi.restoreAllMocks())

describe('failed calls are retried as often as by the SDK, with the same id and pauses', () => {
  test.each(failures)('%s', async (_, answer) => {
    for (const times of [1, 2, 9]) {
      const expected = await attempts(sdkCalls, answer, times)
      expect(await attempts(wireCalls, answer, times), `${times} times`).toEqual(expected)
    }
  })
})

describe('retries of AWS calls', () => {
  const throttled = (retryAfterMs?: number) =>
    new AwsServiceError('Throttling', '', {
      status: 400,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })
  const failing = (error: Error) => () => Promise.reject(error)

  test('the client waits as long as the service asks, at most five seconds more than its own pause', async () => {
    const insist = createRetryCall({ most: 2, pauseMs: 50 })
    for (const asked of [100, 3000, 60_000]) await insist(failing(throttled(asked))).catch(() => undefined)
    expect(pauses).toEqual([500, 3000, 5500])
  })

  test('retries use up a budget, which successful calls refill', async () => {
    const insist = createRetryCall({ most: 3, pauseMs: 0 })
    let tries = 0
    const counted = (error?: Error) => () => {
      tries += 1
      return error ? Promise.reject(error) : Promise.resolve()
    }
    for (let call = 0; call < 100; call++) await insist(counted(broken('EPIPE'))).catch(() => undefined)
    // a retry budget of 500 allows 35 retries that cost 14 each
    expect(tries).toBe(100 + 35)
    for (let call = 0; call < 14; call++) await insist(counted())
    tries = 0
    await insist(counted(broken('EPIPE'))).catch(() => undefined)
    expect(tries).toBe(2)
  })

  test('no retry starts if it would begin after the deadline', async () => {
    const insist = createRetryCall({ most: 3, pauseMs: 50 })
    await expect(insist(failing(throttled()), 400)).rejects.toMatchObject({ name: 'Throttling' })
    expect(pauses).toEqual([])
    const left: number[] = []
    await insist(async ms => void left.push(ms), 400)
    expect(left[0]).toBeGreaterThan(300)
  })
})

test('no retry starts without time left', async () => {
  let attempts = 0
  const attempt = async (left: number) => {
    attempts += 1
    const end = performance.now() + left - 1
    while (performance.now() < end);
    throw broken('ETIMEDOUT')
  }
  const insist = createRetryCall({ most: 3, pauseMs: 0 })
  await expect(insist(attempt, 20)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  expect(attempts).toBe(1)
})
