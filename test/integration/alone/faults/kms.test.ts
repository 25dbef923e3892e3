import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Control, remoteControl } from '../../../../infra/local/provider/control.ts'
import { alarming } from '../../../../shared/api/alarming.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { ownHost } from '../../../support/service/own-host.ts'

withoutWaiting()

// The keyring is opened by KMS once in the life of a container: warm ones do without KMS, a cold one says that it
// cannot serve now, and serves as soon as KMS answers.

let host: Awaited<ReturnType<typeof ownHost>>
let aws: Control
beforeAll(async () => {
  host = await ownHost()
  aws = remoteControl(host.provider_url, host.control_token)
})
afterEach(() => aws.clearFaults())

type Fault = Parameters<Control['fault']>[0]

/** Each row in a function of its own, that nothing has been asked of before. */
const rows: [string, Fault, string, string][] = [
  ['throttles', { kind: 'throttle' }, 'GET', '/auth/cloud/role/none'],
  ['is broken', { kind: 'error', status: 500 }, 'GET', '/auth/cloud/config/client'],
  [
    'has disabled the key',
    { kind: 'error', status: 400, code: 'DisabledException' },
    'GET',
    '/auth/cloud/identity-accesslist/i-0',
  ],
  [
    'does not permit it',
    { kind: 'error', status: 400, code: 'AccessDeniedException' },
    'GET',
    '/sys/policies/acl/none',
  ],
  ['breaks connections', { kind: 'reset' }, 'GET', '/identity/entity/id/none'],
  [
    'answers something else',
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

describe('a KMS that', () => {
  test.each(rows)(
    '%s makes 503 of requests to a cold container, and none once it is warm',
    async (_name, fault, method, path) => {
      await aws.fault({ service: 'kms', times: 99, ...fault })
      const reply = await host.api(method, path)
      expect(reply.status, reply.text).toBe(503)
      expect(reply.body.errors).toEqual([alarming.keyring])
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
      await aws.clearFaults()
      expect((await host.api(method, path)).status, 'KMS is back').toBe(404)
      await aws.fault({ service: 'kms', times: 99, ...fault })
      expect((await host.api(method, path)).status, 'the container is warm').toBe(404)
    },
  )
})
