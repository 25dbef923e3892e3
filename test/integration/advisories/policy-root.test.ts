import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { makerWith } from '../../support/requests/tokens.ts'
import { api, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

const role = {
  auth_type: 'ec2',
  bound_account_id: HOME.account,
  role_tag: 'CloudRole',
  token_policies: 'dev',
}

const spellings: unknown[] = [
  'root',
  'Root',
  'ROOT',
  ' root ',
  '\troot\n',
  'root,',
  'dev,rOOt',
  ['dev', ' ROOT '],
  ['root,'],
]

describe('the root policy cannot be assigned, however it is spelled: CVE-2024-9180, HCSEC-2024-21, CVE-2025-5999, CVE-2025-54996, CVE-2025-64761', () => {
  let mount = ''
  let maker = ''
  let entity = ''
  const login = async () => {
    const { tag_value: CloudRole } = (await done('POST', `${mount}/role/web/tag`, {})).body.data
    const { body } = await loginAs(mount, await launch({ tags: { CloudRole } }), { role: 'web' })
    return body.auth
  }
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${mount}/role/web`, role)
    maker = await makerWith('"update", "sudo"')
    await done('POST', '/auth/token/roles/open', {})
    entity = (await login()).entity_id
  })

  const places: [name: string, path: () => string, field: string, more?: object][] = [
    ['a role', () => `${mount}/role/web`, 'token_policies'],
    ['a role, by the old name', () => `${mount}/role/web`, 'policies'],
    ['a new role', () => `${mount}/role/${fresh('r')}`, 'token_policies', role],
    ['a role tag', () => `${mount}/role/web/tag`, 'policies'],
    ['an entity', () => `/identity/entity/id/${entity}`, 'policies'],
    ['a token of one that is not root', () => '/auth/token/create', 'policies'],
    ['an orphan', () => '/auth/token/create-orphan', 'policies'],
    ['a token by a token role', () => '/auth/token/create/open', 'policies'],
  ]
  const rows = places.flatMap(([name, path, field, more]) =>
    spellings.map(value => [name, value, path, field, more] as const),
  )
  test.each(rows)('root is rejected in %s: %j', async (_name, value, path, field, more = {}) => {
    const at = path()
    const options = at.startsWith('/auth/token') ? { token: maker } : {}
    const reply = await api('POST', at, { ...more, [field]: value }, options)
    expect([reply.status, errorsOf(reply)]).toEqual([400, expect.stringMatching(/root|subset|policy name/)])
    expect(reply.text).not.toMatch(/client_token|tag_value/)
  })

  test('no rejected write was stored', async () => {
    const { data: stored } = (await done('GET', `${mount}/role/web`)).body
    const { data: owner } = (await done('GET', `/identity/entity/id/${entity}`)).body
    expect([stored.token_policies, owner.policies]).toEqual([['dev'], []])
    expect((await login()).policies).toEqual(['default', 'dev'])
  })
})
