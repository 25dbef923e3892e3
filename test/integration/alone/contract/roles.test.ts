import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Operation,
  operationsOf,
  requestsTo,
  type Sent,
} from '../../../support/requests/from-document.ts'
import { document, faultsOf } from '../../../support/service/contract.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { readyToPromote } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import type { SetSnapshot } from '../../../support/set/snapshot.ts'

// Sends requests that change a cluster's role to a primary and its secondary, whose operation token is
// valid. When a request has changed the roles, a snapshot restores both clusters for the next one.

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 4)
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31))
const NAMES = ['east', 'west'] as const

let kept: SetSnapshot
let set: ClusterSet
/** The stored items of both clusters. A request that changes nothing leaves this text equal. */
let before = ''

const rolesNow = async (): Promise<string> =>
  JSON.stringify(await Promise.all(NAMES.map(name => set.at(name).record())))

async function again(): Promise<void> {
  set = await clusterSet(NAMES, { memory: true, from: kept })
  before = await rolesNow()
}

beforeAll(async () => {
  const first = await clusterSet(NAMES, { memory: true })
  await readyToPromote(first)
  kept = await first.snapshot()
  await again()
})

const operations = operationsOf(document).filter(({ path }) =>
  /^\/sys\/(replication|rotate|key-status|license)/.test(path),
)

interface Asked extends Sent {
  name: (typeof NAMES)[number]
  operator: boolean
}

/**
 * Adds the cluster's operation token to the body if the operation takes such a token, except in some
 * requests.
 */
const bodyOf = ({ body, operator }: Asked, { requestBody }: Operation): unknown => {
  const asked = requestBody?.content['application/json'].schema['properties'] as object | undefined
  const takes = asked !== undefined && Object.hasOwn(asked, 'dr_operation_token')
  return operator && takes && typeof body === 'object' && body !== null
    ? { ...body, dr_operation_token: OPERATION_TOKEN }
    : body
}

describe(`role-changing requests generated from the OpenAPI document, seed ${seed}`, () => {
  test.each(operations)('$title', { timeout: 600_000 }, async ({ verb, path, operation }) => {
    const asked = fc
      .tuple(requestsTo(verb, path, operation), fc.constantFrom(...NAMES), fc.nat(5))
      .map(([sent, name, chance]): Asked => ({ ...sent, name, operator: chance > 0 }))
    await fc.assert(
      fc.asyncProperty(asked, async request => {
        const { method, headers, token, name } = request
        const tokens = {
          root: {},
          plain: { token: 'hvs.plain' },
          none: { token: '' },
          bogus: { token: 'hvs.x' },
        }
        const body = bodyOf(request, operation)
        const options = { headers, ...tokens[token] }
        const reply = await set.at(name).request(method, request.path, body, options)
        await set.settled()
        const changed = (await rolesNow()) !== before
        if (changed) await again()
        expect(reply.status, reply.text).not.toBe(504)
        expect(reply.status, reply.text).not.toBe(500)
        expect(faultsOf(method, request.path, reply)).toEqual([])
      }),
      { seed, numRuns: RUNS },
    )
  })
})
