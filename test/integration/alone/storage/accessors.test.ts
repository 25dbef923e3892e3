import '../../../support/service/over-connections.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { api, done, storage } from '../../../support/service/cluster.ts'

const LIMIT = 20

/** Returns a page of accessors, and the number of items that the engine read for the page. */
async function pageOf(query: string): Promise<{ keys: string[]; read: number }> {
  await storage.reset()
  const { status, body } = await api('GET', `/auth/token/accessors?list=true${query}`)
  const read = (await storage.calls()).reduce((sum, call) => sum + call.scanned, 0)
  return { keys: status === 404 ? [] : body.data.keys, read }
}

const all = async (): Promise<string[]> => (await pageOf('')).keys

describe('a page of auth/token/accessors', () => {
  beforeAll(async () => {
    for (let batch = 0; batch < 10; batch++)
      await Promise.all(
        Array.from({ length: 12 }, () => done('POST', '/auth/token/create', { no_parent: true, ttl: '1h' })),
      )
  })

  test('reads at most three times its limit, and all pages together have every accessor once', async () => {
    const whole = await all()
    expect(whole.length).toBeGreaterThan(120)
    expect(whole).toEqual([...whole].sort())
    const found: string[] = []
    for (let after = ''; ; after = found.at(-1) ?? '') {
      const { keys, read } = await pageOf(`&limit=${LIMIT}&after=${after}`)
      expect(read, `after ${after}`).toBeLessThanOrEqual(3 * LIMIT)
      if (keys.length === 0) break
      expect(keys.length).toBeLessThanOrEqual(LIMIT)
      found.push(...keys)
    }
    expect(found.toSorted()).toEqual(whole)
  })

  test('still returns the next page after the token at its end was revoked', async () => {
    const own = (await api('GET', '/auth/token/lookup-self')).body.data.accessor
    const { keys } = await pageOf(`&limit=${LIMIT}`)
    // revoking the test's own token would make the rest of the test fail
    if (keys.at(-1) === own) keys.pop()
    const [previous, last] = keys.slice(-2)
    const next = await pageOf(`&limit=${LIMIT}&after=${last}`)
    await done('POST', '/auth/token/revoke-accessor', { accessor: last })
    const { status, body } = await api('GET', `/auth/token/accessors?list=true&limit=${LIMIT}&after=${last}`)
    // DynamoDB continues after the place of a deleted item; the embedded engine cannot
    if (status === 200) expect(body.data.keys).toEqual(next.keys)
    else
      expect([status, body.errors]).toEqual([
        400,
        ['after: the token of this accessor no longer exists; use the previous accessor of the list'],
      ])
    expect((await pageOf(`&limit=${LIMIT}&after=${previous}`)).keys).toEqual(next.keys)
  })

  test.each(['&limit=0', '&limit=-1', '&limit=-5'])('has all accessors with %s', async query => {
    expect((await pageOf(query)).keys).toEqual(await all())
  })

  test('without a limit has all accessors after `after`', async () => {
    const { keys } = await pageOf(`&limit=${LIMIT}`)
    const rest = await pageOf(`&after=${keys.at(-1)}`)
    expect([...keys, ...rest.keys].toSorted()).toEqual(await all())
  })
})
