import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { endsService } from '../../../support/requests/endpoints.ts'
import { operationsOf, requestsTo, type Sent } from '../../../support/requests/from-document.ts'
import type { Reply } from '../../../support/service/api.ts'
import { api, done, settled } from '../../../support/service/cluster.ts'
import { document, faultsOf } from '../../../support/service/contract.ts'

// Sends requests generated from the OpenAPI document, some of them slightly invalid, to every operation. No
// request may cause an internal error, and every answer must match the document. `FUZZ_RUNS` sets the
// requests for each operation, `FUZZ_SEED` the seed.

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 3)
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31))

const operations = operationsOf(document).filter(({ path }) => !endsService(path))

const tokens = { root: '', plain: '', none: '', bogus: 'hvs.AAAAAAAAAAAAAAAAAAAAAAAA' }

const newToken = async (body: object): Promise<string> =>
  (await done('POST', '/auth/token/create', body)).body.auth.client_token

/**
 * Restores what earlier requests may have deleted: the tokens, the mount, and the items that path
 * parameters name.
 */
async function revive(): Promise<void> {
  tokens.root = await newToken({ policies: 'root', ttl: '1h' })
  tokens.plain = await newToken({ policies: 'default', ttl: '1h' })
  await api('POST', '/sys/auth/cloud', { type: 'cloud' })
  await api('POST', '/auth/cloud/role/web', {
    auth_type: 'ec2',
    bound_region: 'us-east-1',
    role_tag: 'CloudRole',
  })
  await api('POST', '/auth/token/roles/web', { allowed_policies: 'default' })
  await api('POST', '/sys/policies/acl/web', { policy: 'path "a/*" { capabilities = ["read"] }' })
}

const sendOne = ({ method, path, body, headers, token }: Sent): Promise<Reply> =>
  api(method, path, body, { headers, token: tokens[token] })

/**
 * Reports whether an answer shows a fault of this program. 501, 502 and 503 are answers about AWS, or
 * about a cluster whose role has changed.
 */
const isFailure = ({ status }: Reply): boolean => status >= 500 && ![501, 502, 503].includes(status)

let sent = 0
afterAll(async () => {
  await settled()
  process.stdout.write(`\n${sent} requests to ${operations.length} operations, seed ${seed}\n`)
})

describe(`requests generated from the OpenAPI document, seed ${seed}`, () => {
  beforeEach(revive)

  test.each(operations)('$title', { timeout: 600_000 }, async ({ verb, path, operation }) => {
    await fc.assert(
      fc.asyncProperty(requestsTo(verb, path, operation), async request => {
        sent += 1
        const reply = await sendOne(request)
        expect(isFailure(reply), `${reply.status} ${reply.text}`).toBe(false)
        expect(faultsOf(request.method, request.path, reply)).toEqual([])
        if (reply.status === 403 && request.token === 'root') await revive()
      }),
      { seed, numRuns: RUNS },
    )
  })
})
