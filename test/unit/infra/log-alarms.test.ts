import { describe, expect, test } from 'vitest'
import { alarmNames, rowOfAlarm } from '../../../infra/watching/alarms.ts'
import { createLazyKms } from '../../../shared/adapters/aws/kms.ts'
import { alarmingTexts } from '../../../shared/api/alarming.ts'
import { ApiError } from '../../../shared/api/errors.ts'
import { fits } from '../../support/service/filter-pattern.ts'

/** Patterns of the alarms that count log events. */
const patterns = alarmNames.flatMap(name => {
  const { counts } = rowOfAlarm(name)
  return counts.kind === 'pattern' ? [{ name, pattern: counts.pattern }] : []
})

/** Returns the names of the alarms that count an event. */
const told = (event: object): string[] =>
  patterns.flatMap(({ name, pattern }) => (fits(pattern, JSON.stringify(event)) ? [name] : []))

const answered = (
  response: object,
  path = 'sys/replication/dr/secondary/generate-operation-token/update',
) => ({
  timestamp: 't',
  level: 'INFO',
  message: { audit: 'response', request: { path }, response },
})
const report = (status: string, type = 'report') => ({
  type: `platform.${type}`,
  record: { requestId: 'r', status },
})
/** Returns a log line of a Web Function's program on a request, in the form that Lambda's runtime writes. */
const complaint = (errorType: string) => ({
  level: 'ERROR',
  message: { errorType, errorMessage: 'm', gateway_id: 'g' },
  requestId: 'r',
})

/** Log events, with the alarms that count them. */
const events = [
  ['a DR operation token that was made', answered({ data: { complete: true } }), ['OperationToken']],
  ['a share that was not the last', answered({ data: { complete: false } }), []],
  ['what a stranger asks for', answered({ data: { complete: true } }, 'sys/health'), []],
  ['an attempt that was started', answered({ data: {} }, 'x/generate-operation-token/attempt'), []],
  ['a share that did not fit', answered({ status: 400 }), []],
  [
    'a root token, which has an alarm of its own',
    answered({ data: { complete: true } }, 'sys/generate-root/update'),
    [],
  ],
  ['a function that threw', report('error'), ['FunctionFailed']],
  ['a function that died', report('failure'), ['FunctionFailed']],
  ['a function that ran out of time', report('timeout'), ['FunctionFailed']],
  ['a function that ended well', report('success'), []],
  ['a Web Function that does not start', report('failure', 'initReport'), ['FunctionFailed']],
  ['a Web Function that has started', report('success', 'initReport'), []],
  ['a request of a Web Function that threw', complaint('WebFunction.Error'), ['FunctionFailed']],
  ['one that ran out of time', complaint('WebFunction.Timeout'), ['FunctionFailed']],
  ['a broken head', { level: 'ERROR', message: alarmingTexts.head, rules: ['applied'] }, ['Head']],
  ['a silent cluster', { level: 'WARN', message: alarmingTexts.peer, amiss: ['x'] }, ['Peer']],
  ['a role that has changed', { level: 'WARN', message: alarmingTexts.role, to: 'primary' }, ['RoleChanged']],
  ['a tree that is wrong', { level: 'ERROR', message: alarmingTexts.tree }, ['Corrupted']],
  ['items that differ', { level: 'ERROR', message: alarmingTexts.items }, ['Corrupted']],
  ['items that differ after a sync', { message: `${alarmingTexts.items} after a sync` }, ['Corrupted']],
  ['items that are given up', { level: 'ERROR', message: alarmingTexts.givenUp }, ['Corrupted']],
  ['an ordinary line', { level: 'INFO', message: 'request', status: 200 }, []],
  ['a text of a client', { level: 'INFO', message: 'request', code: alarmingTexts.peer }, []],
] as const

describe('alarms with a log pattern count', () => {
  test.each(events)('%s', (_, event, names) => expect(told(event)).toEqual(names))

  test('each alarm with a pattern is covered by an event of this list or by the keyring test', () => {
    const counted = new Set<string>(['Keyring', ...events.flatMap(([, , names]) => names)])
    expect(patterns.map(({ name }) => name).filter(name => !counted.has(name))).toEqual([])
  })

  test('a failed KMS unwrap in a request and in a worker counts for the alarm Keyring', async () => {
    const kms = createLazyKms({
      count: () => undefined,
      measure: async work => ({ value: await work(), calls: {} }),
    })
    // no server listens on this port
    process.env['AWS_ENDPOINT_URL_KMS'] = 'http://127.0.0.1:1'
    process.env['AWS_REGION'] ??= 'us-east-1'
    const fault = await kms.unwrap({ id: 'k', wrappedKey: 'AAAA' }).then(
      () => undefined,
      (error: unknown) => error,
    )
    delete process.env['AWS_ENDPOINT_URL_KMS']
    if (!(fault instanceof ApiError)) throw new Error('KMS answered')
    const cause = [fault.message, 'connect ECONNREFUSED']
    expect(told({ level: 'ERROR', message: 'request', code: fault.code, cause })).toEqual(['Keyring'])
    const message = { errorType: 'ApiError', errorMessage: fault.message, stackTrace: [] }
    expect(told({ level: 'ERROR', message })).toEqual(['Keyring'])
    expect(told({ level: 'ERROR', message: 'request', cause: ['something else'] })).toEqual([])
  })

  test('log lines that are not JSON count for no alarm', () => {
    for (const { pattern } of patterns) expect(fits(pattern, 'START RequestId')).toBe(false)
  })
})
