import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startsRounds } from '../../../../shared/auth-method/organization/schedule.ts'
import { HOME, signedBy } from '../../../support/requests/logins.ts'
import {
  accountAt,
  MANAGEMENT,
  ORGANIZATION,
  organizationHost,
  ROOT,
} from '../../../support/requests/organization.ts'
import { clock } from '../../../support/service/clock.ts'

const ACCOUNTS = 1000
const UNITS = 40
// a round makes 123 calls and takes 25 seconds, so each round is cut and goes on in the next run
const JOB_SECONDS = 15

const unitAt = (index: number): string => `${ROOT}/ou-ab12-${String(11_111_111 + (index % UNITS))}`

let at: Awaited<ReturnType<typeof organizationHost>>
let path = ''
let accessor = ''
let commits = 0
let byId = ''
let byUnit = ''
beforeAll(async () => {
  at = await organizationHost(ACCOUNTS, unitAt, JOB_SECONDS)
  ;({ path, accessor } = await at.mountAt())
  commits = await at.commitsDuring(() => at.configure(path))
  byId = await at.roleAt(path, { bound_organization_id: ORGANIZATION })
  byUnit = await at.roleAt(path, { bound_organization_path: unitAt(0) })
})

afterEach(async () => {
  await at.aws.clearFaults()
  clock.reset()
})

const refusal = (role: string, bound = 'bound_organization_id') =>
  `400 the account does not satisfy role "${role}": ${bound}`

const jobResults = () => at.lines.filter(line => line['job'] === 'organization').map(line => line['result'])

describe('a map of a thousand accounts', () => {
  test('is complete after one round, which goes on in several runs', async () => {
    expect(await at.stateOf(path)).toMatchObject({
      organization_id: ORGANIZATION,
      accounts: ACCOUNTS + 1,
      completed_at: expect.any(String),
      last_error: '',
    })
    expect(jobResults()).toContain('again')
  })

  test('is written in at most one commit for each page of twenty accounts', () => {
    // 40 units of 25 accounts are 80 pages; the runs and the end write the state of the map
    process.stdout.write(`first round of ${ACCOUNTS} accounts: ${commits} commits\n`)
    expect(commits).toBeGreaterThan(80)
    expect(commits).toBeLessThan(95)
  })

  test('admits its accounts, by organization and by unit', async () => {
    expect(await at.login(path, byId, accountAt(7))).toBe('200')
    expect(await at.login(path, byId, MANAGEMENT)).toBe('200')
    expect(await at.login(path, byUnit, accountAt(UNITS))).toBe('200')
  })

  test('refuses accounts of other units, and strangers', async () => {
    expect(await at.login(path, byUnit, accountAt(1))).toBe(refusal(byUnit, 'bound_organization_path'))
    expect(await at.login(path, byUnit, MANAGEMENT)).toBe(refusal(byUnit, 'bound_organization_path'))
    expect(await at.login(path, byId, '999900001111')).toBe(refusal(byId))
    const other = await at.roleAt(path, { bound_organization_id: 'o-zzzzzzzzzz' })
    expect(await at.login(path, other, accountAt(7))).toBe(refusal(other))
  })

  test('follows an account that moves, and one that leaves', async () => {
    const [moved, left] = [accountAt(3), accountAt(4)]
    await at.aws.moveAccount({ account: moved, path: unitAt(0) })
    await at.aws.moveAccount({ account: left })
    expect(await at.login(path, byUnit, moved)).toBe(refusal(byUnit, 'bound_organization_path'))
    expect(await at.login(path, byId, left)).toBe('200')
    at.lines.length = 0
    const writes = await at.commitsDuring(() => at.round(accessor))
    // one for each run, one for the move, and the end with the deletion
    expect(writes).toBe(jobResults().length + 2)
    expect(await at.login(path, byUnit, moved)).toBe('200')
    expect(await at.login(path, byId, left)).toBe(refusal(byId))
    await at.aws.putOrganization({ account: left, organizationId: ORGANIZATION, path: unitAt(4) })
    await at.round(accessor)
    expect(await at.login(path, byId, left)).toBe('200')
  })

  test('drops suspended accounts', async () => {
    const account = accountAt(9)
    const place = { account, organizationId: ORGANIZATION, path: unitAt(9) }
    await at.aws.putOrganization({ ...place, suspended: true })
    await at.round(accessor)
    expect(await at.login(path, byId, account)).toBe(refusal(byId))
  })

  test('is completed when AWS throttles in between', async () => {
    await at.aws.fault({ service: 'organizations', kind: 'throttle', times: 2 })
    await at.aws.fault({ service: 'organizations', kind: 'throttle', skip: 40, times: 2 })
    await at.round(accessor)
    expect((await at.stateOf(path)).last_error).toBe('')
  })

  test('stays as it was, deletes nothing and names the fault when a round fails', async () => {
    const before = await at.stateOf(path)
    const gone = accountAt(20)
    await at.aws.moveAccount({ account: gone })
    await at.aws.fault({
      service: 'organizations',
      action: 'ListAccountsForParent',
      kind: 'error',
      status: 400,
      code: 'AccessDeniedException',
      skip: 70,
      times: 99,
    })
    await at.round(accessor)
    expect(await at.stateOf(path)).toEqual({
      ...before,
      last_error: 'Organizations refused the server’s own request: AccessDeniedException',
    })
    expect(await at.login(path, byId, gone)).toBe('200')
    await at.aws.clearFaults()
    await at.round(accessor)
    expect(await at.login(path, byId, gone)).toBe(refusal(byId))
    expect((await at.stateOf(path)).last_error).toBe('')
  })

  test('is not touched by a run of a round that another round has replaced', async () => {
    const progress = { organization: ORGANIZATION, pages: [], seen: '' }
    await at.round(accessor, { runner: 'another', progress })
    expect(await at.login(path, byId, accountAt(7))).toBe('200')
  })

  test('answers 503 when it has grown old, until the next round', async () => {
    const plain = await at.roleAt(path, {
      bound_iam_principal_arn: `arn:aws:iam::${HOME.account}:*`,
      resolve_aws_unique_ids: false,
    })
    clock.advance(2 * 3600)
    expect(await at.login(path, byId, accountAt(7))).toBe('503 the map of the organization is too old')
    expect(await at.login(path, plain, HOME.account)).toBe('200')
    at.lines.length = 0
    let minutes = 0
    for (; !startsRounds(clock.now()); minutes += 1) clock.advance(60)
    expect(minutes).toBeLessThan(15)
    clock.skip()
    await at.host.invoke('on-journal', { source: 'aws.events' })
    await at.host.settled()
    expect(at.lines.flatMap(line => line['IssuerFaults'] ?? [])).toEqual([1])
    expect(await at.login(path, byId, accountAt(7))).toBe('200')
  })

  test('admits its accounts again at once when max_age grows, although AWS refuses the round', async () => {
    await at.aws.fault({
      service: 'organizations',
      kind: 'error',
      status: 400,
      code: 'AccessDeniedException',
      times: 99,
    })
    // the round of the test before has completed two hours ahead
    clock.advance(5 * 3600)
    expect(await at.login(path, byId, accountAt(7))).toMatch(/^503/)
    const { data } = (
      await at.ok('POST', `${path}/role/${byId}/explain`, signedBy(await at.keyIn(accountAt(7))))
    ).body
    expect(data.login_would_succeed).toBe(false)
    expect(data.checks.at(-1)).toMatchObject({
      check: 'organization',
      verdict: 'fail',
      reason: 'organization-stale',
    })
    await at.ok('POST', `${path}/config/organization`, { max_age: '24h' })
    expect(await at.login(path, byId, accountAt(7))).toBe('200')
    await at.host.settled()
    expect((await at.stateOf(path)).last_error).toMatch(/AccessDeniedException$/)
    await at.aws.clearFaults()
    clock.skip()
    await at.ok('POST', `${path}/config/organization`, { max_age: '1h' })
    await at.host.settled()
    expect((await at.stateOf(path)).last_error).toBe('')
  })

  test('costs a login one more read, and no call', async () => {
    const key = await at.keyIn(accountAt(7))
    const operations = async () => {
      await at.loginAt(path, { role: byId, ...signedBy(key) })
      at.tables().reset()
      const { status } = await at.loginAt(path, { role: byId, ...signedBy(key) })
      return [
        status,
        ...at
          .tables()
          .calls()
          .map(({ operation }) => operation),
      ]
    }
    expect(await operations()).toEqual([200, 'BatchGetItem', 'BatchGetItem', 'BatchGetItem', 'PutItem'])
  })

  test('is compared at each renewal', async () => {
    const account = accountAt(33)
    const { body } = await at.loginAt(path, { role: byId, ...signedBy(await at.keyIn(account)) })
    const renew = async () =>
      (await at.host.api('POST', '/auth/token/renew', { token: body.auth.client_token })).status
    expect(await renew()).toBe(200)
    await at.aws.moveAccount({ account })
    await at.round(accessor)
    expect(await renew()).toBe(403)
  })

  test('admits instances of its accounts by the ec2 login', async () => {
    const { account, region } = HOME
    const { rsa2048 } = await at.aws.authority()
    const cloud_public_cert = Buffer.from(rsa2048).toString('base64')
    await at.ok('POST', `${path}/config/certificate/local`, { cloud_public_cert })
    const instance = await at.aws.putInstance({ account, region })
    const pkcs7 = (await at.aws.documents(instance)).rsa2048
    const role = await at.roleAt(path, { auth_type: 'ec2', bound_organization_path: unitAt(0) })
    const login = async () => (await at.loginAt(path, { role, pkcs7, nonce: 'n' })).status
    expect(await login()).toBe(400)
    await at.aws.putOrganization({
      account,
      organizationId: ORGANIZATION,
      path: `${unitAt(0)}/ou-ab12-22222222`,
    })
    await at.round(accessor)
    expect(await login()).toBe(200)
  })
})

test('a role that is no ARN is refused', async () => {
  const { path: other } = await at.mountAt()
  expect(await at.host.api('POST', `${other}/config/organization`, { role: 'web' })).toMatchObject({
    status: 400,
    body: { errors: ['role must be the ARN of an IAM role'] },
  })
  expect((await at.host.api('GET', `${other}/config/organization`)).status).toBe(404)
})

test('without config/organization no account satisfies a bound, and a deleted map admits nobody', async () => {
  const other = await at.mountAt()
  const role = await at.roleAt(other.path, { bound_organization_id: ORGANIZATION })
  expect(await at.login(other.path, role, accountAt(7))).toBe(refusal(role))
  await at.configure(other.path)
  expect(await at.login(other.path, role, accountAt(7))).toBe('200')
  clock.skip()
  await at.ok('DELETE', `${other.path}/config/organization`)
  await at.host.settled()
  expect(await at.login(other.path, role, accountAt(7))).toBe(refusal(role))
})
