import { describe, expect, test } from 'vitest'
import { type Thing, things } from '../../support/requests/things.ts'
import { api, done, fresh, freshMount, tokenWith } from '../../support/service/cluster.ts'

const elsewhere = (title: string, at: () => string, body: Record<string, unknown>): Thing => ({
  title,
  at,
  body,
  parts: [],
})

const keyed: readonly Thing[] = [
  ...things.filter(({ title }) => title !== 'config/identity'),
  elsewhere('a policy', () => `/sys/policies/acl/${fresh('p')}`, { policy: 'path "x" {}' }),
  elsewhere('a policy (older path)', () => `/sys/policy/${fresh('p')}`, { policy: 'path "x" {}' }),
  elsewhere('a token role', () => `/auth/token/roles/${fresh('r')}`, { allowed_policies: 'dev' }),
]

const tokenFor = (path: string, capability: string) =>
  tokenWith(`path "${path.slice(1)}" { capabilities = ["${capability}"] }`)

const statusOf = async (path: string, body: unknown, token: string) =>
  (await api('POST', path, body, { token })).status

describe('writing needs `create` for a missing item and `update` for an existing one', () => {
  test.each(keyed)('$title', async ({ at, body }) => {
    const { path: mount } = await freshMount()
    const path = at(mount)
    const creator = await tokenFor(path, 'create')
    const updater = await tokenFor(path, 'update')

    const early = await api('POST', path, body, { token: updater })
    expect(early.status, early.text).toBe(403)
    expect((await api('GET', path)).status).toBe(404)

    expect(await statusOf(path, body, creator)).toBeLessThan(300)
    const before = (await done('GET', path)).body.data

    const late = await api('POST', path, body, { token: creator })
    expect([late.status, late.text]).toEqual([early.status, early.text])
    expect((await done('GET', path)).body.data).toEqual(before)
    expect(await statusOf(path, body, updater)).toBeLessThan(300)
  })

  test('config/identity always exists, so its first write needs `update` too', async () => {
    const { path: mount } = await freshMount()
    const path = `${mount}/config/identity`
    const [creator, updater] = [await tokenFor(path, 'create'), await tokenFor(path, 'update')]
    for (const iam_alias of ['unique_id', 'full_arn']) {
      expect(await statusOf(path, { iam_alias }, creator)).toBe(403)
      expect(await statusOf(path, { iam_alias }, updater)).toBe(204)
    }
  })
})
