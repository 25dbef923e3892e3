import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { type RunningProvider as Aws, startProvider } from '../../infra/local/provider/provider.ts'
import { carryAuditEntries } from '../../shared/adapters/aws/audit-carrier.ts'

const ACCOUNT = '111122223333'
const HOUR = 3_600_000
const NOW = Date.now()
const STREAM = '2026/08/01/cloud-auth-login[$LATEST]0123'

let aws: Aws
beforeAll(async () => {
  aws = await startProvider({ home: { account: ACCOUNT, region: 'eu-west-1' } })
  await aws.control.putUser({ account: ACCOUNT, name: 'carrier' })
  const key = await aws.control.createAccessKey({ account: ACCOUNT, user: 'carrier' })
  vi.stubEnv('AWS_REGION', 'eu-west-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', key.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', key.secretAccessKey)
  vi.stubEnv('AWS_ENDPOINT_URL_CLOUDWATCH_LOGS', aws.url)
  return async () => {
    vi.unstubAllEnvs()
    await aws.close()
  }
})

/** Builds a delivery of CloudWatch Logs. */
const delivery = (events: [time: number, message: string][], messageType = 'DATA_MESSAGE') => {
  const logEvents = events.map(([time, message], index) => ({
    id: `${index}`,
    timestamp: NOW + time,
    message,
  }))
  const content = { messageType, owner: ACCOUNT, logGroup: 'functions', logStream: STREAM, logEvents }
  return { awslogs: { data: gzipSync(JSON.stringify(content)).toString('base64') } }
}
/** Returns the log line that Lambda's runtime writes when the console gets an object. */
const framed = (message: object) =>
  JSON.stringify({ timestamp: '2026-08-01T00:00:00.000Z', level: 'INFO', requestId: 'r', message })
const kept = async (group: string) => (await aws.control.logEvents({ group })).events

describe('the carrier of audit entries', () => {
  test('writes each entry unchanged into the stream with its original name', async () => {
    const entry = { audit: 'request', request: { path: 'auth/cloud/login' } }
    await carryAuditEntries(delivery([[1, framed(entry)]]), 'one')
    await carryAuditEntries(delivery([[2, framed({ ...entry, audit: 'response' })]]), 'one')
    expect(await kept('one')).toEqual(
      ['request', 'response'].map((audit, index) => ({
        stream: STREAM,
        timestamp: NOW + index + 1,
        message: JSON.stringify({ ...entry, audit }),
      })),
    )
  })

  test('a delivery that unpacks to more than the limit is refused (CVE-2026-39396, GHSA-r65v-xgwc-g56j)', async () => {
    const data = gzipSync(Buffer.alloc(64 * 2 ** 20, ' ')).toString('base64')
    await expect(carryAuditEntries({ awslogs: { data } }, 'bomb')).rejects.toMatchObject({
      code: 'ERR_BUFFER_TOO_LARGE',
    })
  })

  test.each(['{"timestamp":"2026', 'text', '"{}"', '{"message":"request"}', '[]'])(
    'a line without the runtime’s frame is carried unchanged: %s',
    async text => {
      await carryAuditEntries(delivery([[0, text]]), `odd ${text}`)
      expect((await kept(`odd ${text}`)).map(one => one.message)).toEqual([text])
    },
  )

  test('ignores the control message by which CloudWatch Logs checks its destination', async () => {
    const question = delivery(
      [[0, 'CWL CONTROL MESSAGE: Checking health of destination Lambda.']],
      'CONTROL_MESSAGE',
    )
    await carryAuditEntries(question, 'quiet')
    expect(await kept('quiet')).toEqual([])
  })

  test('fails when CloudWatch Logs rejects some entries, and keeps the accepted entries', async () => {
    const old = -15 * 24 * HOUR
    const events: [number, string][] = [
      [0, framed({ audit: 'request' })],
      [old, framed({ audit: 'request' })],
      [3 * HOUR, framed({ audit: 'request' })],
    ]
    await expect(carryAuditEntries(delivery(events), 'some')).rejects.toThrow('2 of 3 audit entries')
    expect((await kept('some')).map(one => one.timestamp)).toEqual([NOW])
  })

  test('fails on an event without a delivery', async () => {
    await expect(carryAuditEntries({}, 'none')).rejects.toThrow()
  })

  test('carries entries that lie more than a day apart', async () => {
    const times = [-50 * HOUR, -25 * HOUR, 0]
    await carryAuditEntries(delivery(times.map(time => [time, framed({ audit: 'request' })])), 'days')
    expect((await kept('days')).map(one => one.timestamp - NOW)).toEqual(times)
  })
})
