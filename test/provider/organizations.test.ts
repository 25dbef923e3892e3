import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { RunningProvider } from '../../infra/local/provider/provider.ts'
import { createOrganizationReader } from '../../shared/adapters/aws/organizations.ts'
import type { AwsProvider } from '../../shared/adapters/aws/provider.ts'
import type { AwsTarget } from '../../shared/ports.ts'
import { webServer } from '../support/service/server.ts'
import { account, provider } from './clients.ts'

const organizationId = 'o-a1b2c3d4e5'
const root = `${organizationId}/r-ab12`
const deadline = Number.POSITIVE_INFINITY
const target = {} as AwsTarget

/** Returns the reader of the service, which calls an imitated AWS as a user of an account. */
async function readerFor({ url, control }: RunningProvider, of = account) {
  await control.putUser({ account: of, name: 'reader' })
  return readerAt(url, await control.createAccessKey({ account: of, user: 'reader' }))
}

function readerAt(url: string, key: { accessKeyId: string; secretAccessKey: string }, region = 'eu-west-1') {
  vi.stubEnv('AWS_REGION', region)
  vi.stubEnv('AWS_ENDPOINT_URL_ORGANIZATIONS', url)
  onTestFinished(() => void vi.unstubAllEnvs())
  const settings = { region, maxAttempts: 1, credentials: async () => key }
  const call: AwsProvider['call'] = async (_service, _target, _deadline, make, send) =>
    send((await make(settings)) as never, 3000)
  return createOrganizationReader({ call } as AwsProvider)
}

async function organization() {
  const running = await provider()
  const put = (id: string, path: string, more = {}) =>
    running.control.putOrganization({ account: id, organizationId, path, ...more })
  await put(account, root, { management: true })
  const ids = Array.from({ length: 25 }, (_, index) => String(200_000_000_000 + index))
  for (const id of ids) await put(id, `${root}/ou-ab12-11111111`)
  await put('300000000000', `${root}/ou-ab12-22222222/ou-ab12-33333333`)
  return { running, ids, put, reader: await readerFor(running) }
}

describe('an imitated organization', () => {
  test('has a root, nested units, and accounts in pages of twenty', async () => {
    const { reader, ids } = await organization()
    expect(await reader.describe(target, deadline)).toBe(organizationId)
    const list = (what: 'roots' | 'units' | 'accounts', parent: string, next?: string) =>
      reader.list(target, what, parent, next, deadline)
    expect(await list('roots', '')).toEqual({ ids: ['r-ab12'] })
    expect(await list('accounts', 'r-ab12')).toEqual({ ids: [account] })
    expect(await list('units', 'r-ab12')).toEqual({ ids: ['ou-ab12-11111111', 'ou-ab12-22222222'] })
    expect(await list('units', 'ou-ab12-22222222')).toEqual({ ids: ['ou-ab12-33333333'] })
    const first = await list('accounts', 'ou-ab12-11111111')
    expect(first).toEqual({ ids: ids.slice(0, 20), next: expect.any(String) })
    expect(await list('accounts', 'ou-ab12-11111111', first.next)).toEqual({ ids: ids.slice(20) })
  })

  test('follows moves, and hides suspended accounts', async () => {
    const { reader, running, put } = await organization()
    await running.control.moveAccount({ account: '300000000000', path: root })
    await put('200000000000', `${root}/ou-ab12-11111111`, { suspended: true })
    const at = async (parent: string) =>
      (await reader.list(target, 'accounts', parent, undefined, deadline)).ids
    expect(await at('r-ab12')).toContain('300000000000')
    expect(await at('ou-ab12-11111111')).not.toContain('200000000000')
    await running.control.moveAccount({ account: '300000000000' })
    expect(await at('r-ab12')).toEqual([account])
  })

  test.each([
    ['a member that is not the management account', '200000000001', 'AccessDeniedException'],
    ['an account outside', '999900001111', 'AWSOrganizationsNotInUseException'],
  ])('refuses %s', async (_, caller, name) => {
    const { running } = await organization()
    const reader = await readerFor(running, caller)
    await expect(reader.describe(target, deadline)).rejects.toMatchObject({ name })
  })

  test('refuses an unknown parent', async () => {
    const { reader } = await organization()
    await expect(
      reader.list(target, 'accounts', 'ou-ab12-99999999', undefined, deadline),
    ).rejects.toMatchObject({
      name: 'ParentNotFoundException',
    })
  })
})

// the imitated AWS never answers so
describe('an answer with another form is refused', () => {
  const answers = async (body: object) => {
    const { url } = await webServer(onTestFinished, (_, response) => response.end(JSON.stringify(body)))
    return readerAt(url, { accessKeyId: 'AKIA', secretAccessKey: 'x' })
  }
  const unreadable = { name: 'UnreadableAnswer' }

  test.each([
    ['units', { OrganizationalUnits: [{ Id: 'ou-ab12-11111111/ou-ab12-22222222' }] }],
    ['accounts', { Accounts: [{ Id: '1111222233334' }] }],
    ['accounts', { Accounts: [{ Id: 111122223333 }] }],
    ['accounts', { Accounts: [null] }],
    ['roots', { Roots: [{ Id: 'ou-ab12-11111111' }] }],
    ['roots', {}],
  ] as const)('%s: %j', async (what, body) => {
    const reader = await answers(body)
    await expect(reader.list(target, what, 'r-ab12', undefined, deadline)).rejects.toMatchObject(unreadable)
  })

  test('an organization', async () => {
    const reader = await answers({ Organization: { Id: 'o-a1b2c3d4e5/r-ab12' } })
    await expect(reader.describe(target, deadline)).rejects.toMatchObject(unreadable)
  })

  test('and an account that comes twice in a page counts once', async () => {
    const reader = await answers({ Accounts: [{ Id: account }, { Id: account }] })
    expect(await reader.list(target, 'accounts', 'r-ab12', undefined, deadline)).toEqual({ ids: [account] })
  })
})

test.each([
  ['eu-west-1', 'us-east-1'],
  ['cn-north-1', 'cn-northwest-1'],
  ['us-gov-east-1', 'us-gov-west-1'],
  ['eusc-de-east-1', 'eusc-de-east-1'],
])('a cluster in %s signs for the region %s of its partition', async (region, expected) => {
  const { url, requests } = await webServer(onTestFinished, (_, response) => response.end('{"Roots": []}'))
  const reader = readerAt(url, { accessKeyId: 'AKIA', secretAccessKey: 'x' }, region)
  await reader.list(target, 'roots', '', undefined, deadline)
  expect(requests[0]?.headers.authorization).toContain(`/${expected}/organizations/aws4_request`)
})
