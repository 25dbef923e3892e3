import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createRemoteControl, type ProviderControl } from '../../../../infra/local/provider/control.ts'
import { alarmingTexts } from '../../../../shared/api/alarming.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { ownHost } from '../../../support/service/own-host.ts'

withoutWaiting()

// KMS unwraps the keyring once per container. Warm containers do not need KMS. A cold container answers 503
// until KMS answers.

let host: Awaited<ReturnType<typeof ownHost>>
let aws: ProviderControl
beforeAll(async () => {
  host = await ownHost()
  aws = createRemoteControl(host.provider_url, host.control_token)
})
afterEach(() => aws.clearFaults())

type Fault = Parameters<ProviderControl['fault']>[0]

/** Each row calls a function that has not run yet. */
const rows: [string, Fault, string, string][] = [
  ['throttles', { kind: 'throttle' }, 'GET', '/auth/cloud/role/none'],
  ['fails', { kind: 'error', status: 500 }, 'GET', '/auth/cloud/config/client'],
  [
    'has disabled the key',
    { kind: 'error', status: 400, code: 'DisabledException' },
    'GET',
    '/auth/cloud/identity-accesslist/i-0',
  ],
  [
    'denies access',
    { kind: 'error', status: 400, code: 'AccessDeniedException' },
    'GET',
    '/sys/policies/acl/none',
  ],
  ['breaks connections', { kind: 'reset' }, 'GET', '/identity/entity/id/none'],
  [
    'answers with HTML',
    { kind: 'answer', answer: { status: 200, contentType: 'text/html', body: '<html>' } },
    'GET',
    '/auth/token/roles/none',
  ],
  [
    'answers without a key',
    { kind: 'answer', answer: { status: 200, contentType: 'application/x-amz-json-1.1', body: '{}' } },
    'GET',
    '/auth/cloud/config/tidy/roletag-denylist',
  ],
]

describe('while KMS', () => {
  test.each(rows)(
    '%s, requests to a cold container get 503, and requests to a warm container succeed',
    async (_name, fault, method, path) => {
      await aws.fault({ service: 'kms', times: 99, ...fault })
      const reply = await host.api(method, path)
      expect(reply.status, reply.text).toBe(503)
      expect(reply.body.errors).toEqual([
        expect.stringMatching(`^${alarmingTexts.keyring}: KMS does not decrypt`),
      ])
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
      await aws.clearFaults()
      expect((await host.api(method, path)).status, 'KMS is back').toBe(404)
      await aws.fault({ service: 'kms', times: 99, ...fault })
      expect((await host.api(method, path)).status, 'the container is warm').toBe(404)
    },
  )
})

test('a standalone cluster reports a disabled KMS key in its status without a call to KMS', async () => {
  const path = '/sys/replication/dr/status'
  await aws.fault({ service: 'kms', times: 99, kind: 'error', status: 400, code: 'DisabledException' })
  expect((await host.api('POST', '/auth/cloud/login', { role: 'none' })).status).toBe(503)
  await aws.clearFaults()
  const asked = async () => (await aws.calls({ since: 0 })).calls.filter(one => one.service === 'kms').length
  const before = await asked()
  const { data } = (await host.api('GET', path, undefined, { token: '' })).body
  expect(data.mode).toBe('disabled')
  const fault = { ongoing: true, ended: '', text: expect.stringContaining('(DisabledException)') }
  expect(data.recent_faults).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ part: 'keyring', ...fault }),
      expect.objectContaining({ part: 'logins', ...fault }),
    ]),
  )
  expect(await asked()).toBe(before)
  expect((await host.api('GET', '/sys/health', undefined, { token: '' })).status).toBe(200)
  expect((await host.api('POST', '/auth/cloud/login', { role: 'none' })).status).toBe(400)
  const parts = (await host.api('GET', path, undefined, { token: '' })).body.data.recent_faults
  expect(parts.filter(({ ongoing }: { ongoing: boolean }) => ongoing)).toEqual([])
})
