import { afterEach, describe, expect, test } from 'vitest'
import { errorsOf, loginWith } from '../../support/requests/logins.ts'
import { lives, lookUp, make, makerWith, tryMake } from '../../support/requests/tokens.ts'
import { clock } from '../../support/service/clock.ts'
import { api, aws, done, fresh, freshAccount, freshMount } from '../../support/service/cluster.ts'

afterEach(clock.reset)

type Made = Awaited<ReturnType<typeof make>>

/** Creates a chain of tokens. Each token is the child of the previous token. */
async function chain(depth: number): Promise<Made[]> {
  const line: Made[] = [await make({ policies: 'root', ttl: '1h', no_parent: true })]
  for (let made = line[0]; made && line.length < depth; made = line.at(-1))
    line.push(await make({ policies: 'root', ttl: '1h' }, { token: made.client_token }))
  return line
}

const livesAll = (line: readonly Made[]) => Promise.all(line.map(one => lives(one.client_token)))
const accessors = async (): Promise<string[]> =>
  (await done('GET', '/auth/token/accessors?list=true')).body.data.keys

describe('descendants of a token: CVE-2019-18616', () => {
  test.each<[string, (made: Made) => Promise<unknown>]>([
    ['revoke', ({ client_token: token }) => done('POST', '/auth/token/revoke', { token })],
    ['revoke-self', ({ client_token: token }) => done('POST', '/auth/token/revoke-self', {}, { token })],
    ['revoke-accessor', ({ accessor }) => done('POST', '/auth/token/revoke-accessor', { accessor })],
  ])('%s revokes all descendants', async (_, revoke) => {
    const line = await chain(6)
    const [top, second] = line as [Made, Made]
    const sibling = await make({ policies: 'default' }, { token: top.client_token })
    expect((await revoke(second)) as object).toMatchObject({ status: 204, text: '' })
    expect(await livesAll(line)).toEqual([true, false, false, false, false, false])
    expect(await lives(sibling.client_token)).toBe(true)
    const listed = await accessors()
    for (const { accessor } of line.slice(1)) expect(listed).not.toContain(accessor)
    expect(listed).toContain(top.accessor)
  })

  test('a chain may be 33 tokens deep, and revoking the first token revokes all tokens of the chain', async () => {
    const line = await chain(33)
    expect(await lives(line.at(-1)?.client_token ?? '')).toBe(true)
    const deeper = await tryMake({ ttl: '1h' }, { token: line.at(-1)?.client_token ?? '' })
    expect(errorsOf(deeper)).toContain('too deep')
    await done('POST', '/auth/token/revoke', { token: line[0]?.client_token })
    expect(await lives(line.at(-1)?.client_token ?? '')).toBe(false)
  })

  test('a child is invalid once its parent has expired', async () => {
    const parent = await makerWith('"update"', { ttl: '10m' })
    const child = await make({ ttl: '1h' }, { token: parent })
    expect(child.lease_duration).toBe(3600)
    expect(await lives(child.client_token)).toBe(true)
    clock.advance(602)
    expect(await lives(child.client_token)).toBe(false)
    for (const [path, given] of [
      ['lookup', { token: child.client_token }],
      ['renew', { token: child.client_token }],
      ['lookup-accessor', { accessor: child.accessor }],
      ['renew-accessor', { accessor: child.accessor }],
    ] as const)
      expect((await api('POST', `/auth/token/${path}`, given)).status, path).toBeGreaterThanOrEqual(400)
    const nowhere = await api('GET', '/auth/token/nothing', undefined, { token: child.client_token })
    expect(nowhere.status, 'nor does it learn what paths there are').toBe(403)
  })

  test('revoke-orphan keeps the children and their descendants', async () => {
    const line = await chain(4)
    const [top, second, third] = line as [Made, Made, Made]
    await done('POST', '/auth/token/revoke-orphan', { token: top.client_token })
    expect(await livesAll(line)).toEqual([false, true, true, true])
    expect(await lookUp(second.client_token)).toMatchObject({ orphan: true })
    expect(await lookUp(third.client_token)).toMatchObject({ orphan: false })
    await done('POST', '/auth/token/revoke', { token: second.client_token })
    expect(await livesAll(line)).toEqual([false, false, false, false])
  })

  test('revoke-orphan loses no children that are being renewed', async () => {
    const [top] = (await chain(1)) as [Made]
    const children = await Promise.all(
      Array.from({ length: 6 }, () => make({ policies: 'default', ttl: '1h' }, { token: top.client_token })),
    )
    const renewals = children.flatMap(({ client_token: token }) =>
      Array.from({ length: 4 }, () => api('POST', '/auth/token/renew-self', {}, { token })),
    )
    await done('POST', '/auth/token/revoke-orphan', { token: top.client_token })
    await Promise.all(renewals)
    expect(await livesAll(children)).toEqual(children.map(() => true))
  })

  test('revoking the parent of an expired chosen ID does not revoke the new token with that ID', async () => {
    const [first] = (await chain(1)) as [Made]
    const id = fresh('chosen')
    await make({ id, policies: 'root', ttl: '10m' }, { token: first.client_token })
    clock.advance(602)
    const made = await make({ id, policies: 'root', ttl: '1h', no_parent: true })
    const kid = await make({ policies: 'default', ttl: '1h' }, { token: id })
    await done('POST', '/auth/token/revoke', { token: first.client_token })
    expect(await livesAll([first, made, kid])).toEqual([false, true, true])
    await done('POST', '/auth/token/revoke-accessor', { accessor: made.accessor })
    expect(await livesAll([made, kid])).toEqual([false, false])
  })

  test('children of an expired token with a chosen ID stay invalid when the ID is used again', async () => {
    const id = fresh('chosen')
    await make({ id, policies: 'root', ttl: '10m', no_parent: true })
    const kids = await Promise.all([
      make({ policies: 'root', ttl: '1h' }, { token: id }),
      make({ policies: 'default', ttl: '1h', type: 'batch' }, { token: id }),
    ])
    expect(await livesAll(kids)).toEqual([true, true])
    clock.advance(602)
    await make({ id, policies: 'root', ttl: '1h' })
    expect([await lives(id), ...(await livesAll(kids))]).toEqual([true, false, false])
  })

  test('a renewal concurrent with a revocation does not restore the token', async () => {
    const made = await Promise.all(
      Array.from({ length: 5 }, () => make({ policies: 'default', ttl: '1h', num_uses: 9 })),
    )
    const statuses = await Promise.all(
      made.flatMap(({ client_token: token }) => [
        api('POST', '/auth/token/renew-self', {}, { token }),
        api('POST', '/auth/token/revoke', { token }),
        api('POST', '/auth/token/renew', { token }),
      ]),
    )
    expect(statuses.every(({ status }) => status < 500)).toBe(true)
    expect(await livesAll(made)).toEqual(made.map(() => false))
  })

  test('revoke-orphan of an unknown token is 400, and without sudo 403', async () => {
    expect((await api('POST', '/auth/token/revoke-orphan', { token: fresh('hvs.') })).status).toBe(400)
    const { client_token: token } = await make({ policies: 'default' })
    const name = fresh('p')
    await done('POST', `/sys/policies/acl/${name}`, {
      policy: 'path "auth/token/revoke-orphan" { capabilities = ["update"] }',
    })
    const powerless = await make({ policies: name })
    const reply = await api('POST', '/auth/token/revoke-orphan', { token }, { token: powerless.client_token })
    expect(reply.status).toBe(403)
    expect(await lives(token)).toBe(true)
  })

  test('revoking an unknown token succeeds, and an unknown accessor gives a warning', async () => {
    expect((await done('POST', '/auth/token/revoke', { token: fresh('hvs.') })).status).toBe(204)
    const reply = await done('POST', '/auth/token/revoke-accessor', { accessor: fresh() })
    expect(reply).toMatchObject({ status: 200, body: { data: null, warnings: [expect.any(String)] } })
  })

  test("a child of a login's token is invalid once the mount is disabled (CVE-2020-7220)", async () => {
    const { path } = await freshMount()
    const account = freshAccount()
    const user = await aws.putUser({ account, name: 'worker' })
    const maker = fresh('maker')
    await done('POST', `/sys/policies/acl/${maker}`, {
      policy: 'path "auth/token/create" { capabilities = ["update"] }',
    })
    await done('POST', `${path}/role/worker`, {
      bound_iam_principal_arn: user.arn,
      resolve_aws_unique_ids: false,
      token_policies: maker,
    })
    const keys = await aws.createAccessKey({ account, user: 'worker' })
    const login = await loginWith(path, keys, { role: 'worker' })
    const token: string = login.body.auth.client_token
    const line = [await make({}, { token }), await make({ type: 'batch' }, { token })]
    expect(await livesAll(line)).toEqual([true, true])
    await done('DELETE', `/sys${path}`)
    expect(await lives(token)).toBe(false)
    expect(await livesAll(line)).toEqual([false, false])
  })
})

describe('auth/token/accessors', () => {
  test('lists valid service tokens, sorted', async () => {
    const made = await make({ policies: 'default' })
    const batch = await make({ policies: 'default', type: 'batch' })
    const listed = await accessors()
    expect(listed).toEqual([...listed].sort())
    expect(listed).toContain(made.accessor)
    expect(batch.accessor).toBe('')
    expect(listed).not.toContain('')
  })

  test.each([
    ['sudo without list', '["read", "sudo"]'],
    ['list without sudo', '["list", "read", "update", "create", "delete"]'],
  ])('rejects %s, with and without a trailing slash', async (_, capabilities) => {
    const name = fresh('p')
    const policy = `path "auth/token/accessors*" { capabilities = ${capabilities} }`
    await done('POST', `/sys/policies/acl/${name}`, { policy })
    const { client_token: token } = await make({ policies: [name] })
    for (const path of ['accessors?list=true', 'accessors/?list=true'])
      expect((await api('GET', `/auth/token/${path}`, undefined, { token })).status).toBe(403)
    expect((await api('LIST', '/auth/token/accessors', undefined, { token })).status).toBe(403)
  })
})
