import { describe, expect, test } from 'vitest'
import { createStructuredLog } from '../../../shared/adapters/aws/system.ts'
import { toEmbeddedMetrics } from '../../../shared/watching/metrics.ts'

const NOW = 1_800_000_000_000

describe('metrics in a log line', () => {
  test('metrics are declared in one directive for each set of dimensions', () => {
    expect(toEmbeddedMetrics({ Logins: 1, LoginLatency: 43, Ec2Throttles: 2 }, 'cloud-auth/x', NOW)).toEqual({
      Logins: 1,
      LoginLatency: 43,
      Ec2Throttles: 2,
      _aws: {
        Timestamp: NOW,
        CloudWatchMetrics: [
          {
            Namespace: 'cloud-auth/x',
            Dimensions: [['type', 'outcome', 'reason']],
            Metrics: [{ Name: 'Logins', Unit: 'Count' }],
          },
          {
            Namespace: 'cloud-auth/x',
            Dimensions: [[]],
            Metrics: [
              { Name: 'LoginLatency', Unit: 'Milliseconds' },
              { Name: 'Ec2Throttles', Unit: 'Count' },
            ],
          },
        ],
      },
    })
  })

  test('metrics are omitted without numbers or without a namespace', () => {
    expect(toEmbeddedMetrics({}, 'cloud-auth/x', NOW)).toEqual({})
    expect(toEmbeddedMetrics({ Lag: 1 }, '', NOW)).toEqual({})
  })
})

test('a log line is one JSON event that contains the metrics', () => {
  const lines: string[] = []
  const write = process.stdout.write.bind(process.stdout)
  process.stdout.write = ((text: string) => lines.push(String(text)) > 0) as typeof process.stdout.write
  try {
    const log = createStructuredLog('login', 'cloud-auth/x', { now: () => NOW })
    log.info('request', { type: 'iam', outcome: 'granted', reason: 'none' }, { Logins: 1 })
    log.info('request', { status: 200 })
  } finally {
    process.stdout.write = write
  }
  const [first, second] = lines
    .join('')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(first).toMatchObject({
    level: 'INFO',
    message: 'request',
    service: 'login',
    type: 'iam',
    outcome: 'granted',
    reason: 'none',
    Logins: 1,
    _aws: { Timestamp: NOW },
  })
  expect(second).not.toHaveProperty('_aws')
})
