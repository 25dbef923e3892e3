import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { callWatch } from '../../../support/requests/logins.ts'
import {
  cleanMount,
  cleanRoles,
  reviewOf,
  reviewOfRole,
  verdictsOf,
} from '../../../support/requests/reviews.ts'
import { clock } from '../../../support/service/clock.ts'
import { cluster, done, storage } from '../../../support/service/cluster.ts'
import { seed, tableStore } from '../../../support/tables/store.ts'

const MOST = 10_000
let path = ''
let accessor = ''

/** Stores copies of the clean jwt role, each with its own principal. */
async function addRoles(from: number, to: number): Promise<void> {
  const tables = tableStore(cluster)
  const [stored] = await tables.store.read([key('role', accessor, 'jwt')])
  if (!stored) throw new Error('there is no role')
  const names = Array.from(
    { length: to - from },
    (_, index) => `many-${String(from + index).padStart(6, '0')}`,
  )
  await seed(
    tables,
    names.map(name => {
      const boundIamPrincipalArns = [`arn:aws:iam::111122223333:role/${name}`]
      return createItem(key('role', accessor, name), { ...stored.data, boundIamPrincipalArns })
    }),
  )
}

// on a busy machine the time would be up
beforeAll(clock.stop)
afterAll(clock.reset)

beforeAll(async () => {
  ;({ path, accessor } = await cleanMount())
})

const operations = async () => (await storage.calls()).map(call => call.operation)

describe('a review', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['of the mount', () => reviewOf(path)],
    ['of a role', () => reviewOfRole(path, { role: 'new', ...cleanRoles.ec2 })],
  ])('%s writes nothing', async (_, review) => {
    await storage.reset()
    await review()
    const seen = await operations()
    expect(seen).toContain('BatchGetItem')
    expect(seen.filter(one => one !== 'BatchGetItem' && one !== 'Query')).toEqual([])
  })

  test('of 10,000 roles reads pages of 1,000, and asks IAM at most 100 times', async () => {
    await addRoles(3, MOST)
    await storage.reset()
    const calls = callWatch()
    await calls()
    const review = await reviewOf(path)
    const queries = (await operations()).filter(one => one === 'Query')
    // 11 for roles, 1 each for accounts and certificates, 16 for issuers
    expect(queries).toHaveLength(29)
    expect((await calls()).filter(({ service }) => service === 'iam')).toHaveLength(100)
    expect(verdictsOf(review)).toMatchObject({ 'no-nonce': 'clean', 'whole-account': 'clean' })
    expect(verdictsOf(review)['session-tags']).toMatch(/^not asked: IAM /)
  })

  test('of more roles says that the rest was not read', async () => {
    await addRoles(MOST, MOST + 1)
    const verdicts = verdictsOf(await reviewOf(path, ''))
    const why = 'not asked: only the first 10000 items were read'
    expect(verdicts).toMatchObject({ 'no-nonce': why, 'no-server-id': why, 'issuer-fault': 'clean' })
    await done('DELETE', `${path}/role/many-000003`)
    expect(verdictsOf(await reviewOf(path, ''))).toMatchObject({ 'no-nonce': 'clean' })
  })
})
