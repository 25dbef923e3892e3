import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HOME, satellite } from '../../../support/requests/logins.ts'
import { keysOf, rotate, rotating } from '../../../support/requests/rotation.ts'
import type { Reply } from '../../../support/service/api.ts'
import { api, aws, done, fresh, freshMount, invoke, settled } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'

withoutWaiting()

// Faults of AWS during administrative requests: the client gets an error, nothing is half stored, and the
// same request succeeds once AWS is back. Throttling and timeouts are 503, other faults of AWS 502.

type Fault = Parameters<typeof aws.fault>[0]

const junk = { status: 200, contentType: 'text/xml', body: '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>' }
const faults: [string, Fault, number][] = [
  ['throttling', { kind: 'throttle', times: 9 }, 503],
  ['broken', { kind: 'error', status: 500, times: 9 }, 502],
  ['unavailable', { kind: 'error', status: 503, code: 'ServiceUnavailable', times: 9 }, 502],
  ['refusing', { kind: 'error', status: 403, code: 'AccessDenied', times: 9 }, 502],
  ['breaking connections', { kind: 'reset', times: 9 }, 502],
  ['hostile', { kind: 'answer', answer: junk, times: 9 }, 502],
  ['silent', { kind: 'delay', delayMs: 3500, times: 9 }, 503],
]

afterEach(() => aws.clearFaults())

let path = ''
beforeEach(async () => {
  ;({ path } = await freshMount())
  await done('POST', `${path}/config/client`, { max_retries: 0 })
})

function isTold(reply: Reply, status: number): void {
  expect(reply.status, reply.text).toBe(status)
  expect(reply.body.errors[0]).toMatch(/\b(IAM|STS)\b/)
  expect(reply.text).not.toMatch(/DOCTYPE|ENTITY|node_modules/)
  if (status === 503) expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
}

describe('writing a role that binds an IAM principal', () => {
  test.each(faults)('gets $2 while IAM is %s, and succeeds afterwards', async (_name, fault, status) => {
    const principal = await aws.putRole({ account: HOME.account, name: fresh('worker') })
    const role = `${path}/role/${fresh('r')}`
    await aws.fault({ service: 'iam', ...fault })
    isTold(await api('POST', role, { bound_iam_principal_arn: principal.arn }), status)
    expect((await api('GET', role)).status).toBe(404)
    await aws.clearFaults()
    expect((await api('POST', role, { bound_iam_principal_arn: principal.arn })).status).toBe(204)
  })

  test.each(faults)(
    'of a satellite account gets $2 while STS is %s, and succeeds afterwards',
    async (_name, fault, status) => {
      const account = await satellite(path)
      const principal = await aws.putRole({ account, name: fresh('worker') })
      const role = `${path}/role/${fresh('r')}`
      await aws.fault({ service: 'sts', action: 'AssumeRole', ...fault })
      isTold(await api('POST', role, { bound_iam_principal_arn: principal.arn }), status)
      expect((await api('GET', role)).status).toBe(404)
      await aws.clearFaults()
      expect((await api('POST', role, { bound_iam_principal_arn: principal.arn })).status).toBe(204)
    },
  )
})

test('the hourly round completes a key rotation whose cleanup job failed at AWS', async () => {
  const one = await rotating()
  await aws.fault({ service: 'iam', action: 'DeleteAccessKey', kind: 'error', status: 500 })
  const { access_key: kept } = (await rotate(one)).body.data
  expect(await keysOf(one)).toHaveLength(2)
  await aws.fault({ service: 'iam', action: 'GetUser', kind: 'throttle', times: 2 })
  await invoke('on-tidy-schedule')
  await settled()
  expect(await keysOf(one)).toEqual([kept])
})
