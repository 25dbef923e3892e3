import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  callWatch,
  errorsOf,
  HOME,
  type Launched,
  launch,
  loginAs,
  loginWith,
  pkcs7Of,
  placeOf,
  satellite,
} from '../../../support/requests/logins.ts'
import { lives } from '../../../support/requests/tokens.ts'
import {
  acceptTokens,
  type TokenAccount,
  tokenAccount,
  tokenOf,
} from '../../../support/requests/web-tokens.ts'
import { auditEntries } from '../../../support/service/audit.ts'
import { clock } from '../../../support/service/clock.ts'
import {
  api,
  aws,
  done,
  fresh,
  freshMount,
  invoke,
  localCertificate,
  storage,
} from '../../../support/service/cluster.ts'

type State = 'shutting-down' | 'terminated' | 'stopped'

const eventOf = ({ account, region, instanceId }: Launched, state: State = 'shutting-down') => ({
  version: '0',
  source: 'aws.ec2',
  'detail-type': 'EC2 Instance State-change Notification',
  account,
  region,
  resources: [`arn:aws:ec2:${region}:${account}:instance/${instanceId}`],
  detail: { 'instance-id': instanceId, state },
})

const ends = (instance: Launched, more: object = {}) =>
  invoke('on-instance-event', { ...eventOf(instance), ...more })

/** Runs the worker that asks EC2, as one day after its last round. */
async function round() {
  clock.advance(86_400)
  await invoke('on-account-facts')
}

afterEach(clock.reset)

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${mount}/role/ends`, {
    auth_type: 'ec2',
    bound_region: HOME.region,
    revoke_on_termination: true,
    token_policies: 'admin',
    token_ttl: '100h',
  })
  await done('POST', '/sys/policies/acl/admin', {
    policy: 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }',
  })
})

async function loggedIn(values = {}, more: Record<string, unknown> = {}) {
  const instance = await launch(values)
  const { body, text, status } = await loginAs(mount, instance, { role: 'ends', nonce: 'n', ...more })
  expect(status, text).toBe(200)
  return { instance, token: body.auth.client_token as string, accessor: body.auth.accessor as string }
}

const childOf = async (token: string, options: object = {}, path = 'create'): Promise<string> =>
  (await done('POST', `/auth/token/${path}`, options, { token })).body.auth.client_token

const answerOf = async (token: string) => {
  const { status, body } = await api('GET', '/auth/token/lookup-self', undefined, { token })
  return `${status} ${(body.errors ?? []).join('; ')}`
}

const DEAD = '403 2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n'

describe('tokens of a role with revoke_on_termination', () => {
  test('and their children are refused from the request after the event on', async () => {
    const { instance, token } = await loggedIn()
    const [child, batch] = [await childOf(token), await childOf(token, { type: 'batch' })]
    const grandchild = await childOf(child)
    const orphan = await childOf(token, {}, 'create-orphan')
    await ends(instance, {})
    const all = [token, child, batch, grandchild]
    expect(await Promise.all(all.map(answerOf))).toEqual(all.map(() => DEAD))
    // an orphan has left the tree of its parent, as with a revocation
    expect(await lives(orphan)).toBe(true)
  })

  test('are refused with the reason instance-ended in the audit log', async () => {
    const { instance, token } = await loggedIn()
    await ends(instance)
    const before = auditEntries().length
    await answerOf(token)
    expect(JSON.stringify(auditEntries().slice(before))).toContain('"why":"instance-ended"')
  })

  test('live on while the instance stops, and other tokens of the instance live on', async () => {
    const { instance, token } = await loggedIn()
    await done('POST', `${mount}/role/stays`, { auth_type: 'ec2', bound_region: HOME.region })
    const other = (await loginAs(mount, instance, { role: 'stays', nonce: 'n' })).body.auth.client_token
    await invoke('on-instance-event', eventOf(instance, 'stopped'))
    expect(await answerOf(token)).toBe('200 ')
    await ends(instance)
    expect([await answerOf(token), await answerOf(other)]).toEqual([DEAD, '200 '])
  })

  test('that are batch tokens are refused too', async () => {
    const instance = await launch()
    await done('POST', `${mount}/role/batch`, {
      auth_type: 'ec2',
      bound_region: HOME.region,
      revoke_on_termination: true,
      token_type: 'batch',
      token_policies: 'admin',
    })
    const { body } = await loginAs(mount, instance, { role: 'batch', nonce: 'n' })
    expect(body.auth.token_type).toBe('batch')
    expect(await answerOf(body.auth.client_token)).toBe('200 ')
    await ends(instance)
    expect(await answerOf(body.auth.client_token)).toBe(DEAD)
    const { status } = await api('POST', '/auth/token/lookup', { token: body.auth.client_token })
    expect(status).toBe(403)
  })

  test('cannot be looked up or renewed by others after the end', async () => {
    const { instance, token, accessor: own } = await loggedIn()
    await ends(instance)
    const replies = await Promise.all([
      api('POST', '/auth/token/renew', { token }),
      api('POST', '/auth/token/renew-accessor', { accessor: own }),
      api('POST', '/auth/token/lookup', { token }),
      api('POST', '/auth/token/lookup-accessor', { accessor: own }),
    ])
    expect(replies.map(({ status }) => status)).toEqual([400, 400, 403, 400])
  })

  test('do not end by an event of another account, or that names an instance of another account', async () => {
    const { instance, token } = await loggedIn()
    await ends({ ...instance, account: '999999999999' })
    await ends(instance, { account: '999999999999' })
    await ends(instance, { source: 'mine' })
    expect(await answerOf(token)).toBe('200 ')
  })

  test('end once if the event comes twice, and an event before the login does nothing', async () => {
    const instance = await launch()
    await ends(instance)
    const { body } = await loginAs(mount, instance, { role: 'ends', nonce: 'n' })
    expect(await answerOf(body.auth.client_token)).toBe('200 ')
    await ends(instance)
    await ends(instance)
    expect(await answerOf(body.auth.client_token)).toBe(DEAD)
  })

  test('are not made again for an instance that has ended, and explain says why', async () => {
    const { instance } = await loggedIn()
    await ends(instance)
    const again = await loginAs(mount, instance, { role: 'ends', nonce: 'n' })
    expect([again.status, again.body.errors]).toEqual([400, ['the instance has ended']])
    const { body } = await done('POST', `${mount}/role/ends/explain`, {
      pkcs7: await pkcs7Of(instance),
      nonce: 'n',
    })
    expect(body.data.login_would_succeed).toBe(false)
    expect(body.data.checks.at(-1)).toMatchObject({
      check: 'revoke_on_termination',
      verdict: 'fail',
      reason: 'instance-ended',
      seen: { instance_id: instance.instanceId, has_ended: true },
    })
  })

  test('end in each mount where the instance has logged in', async () => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${path}/role/ends`, {
      auth_type: 'ec2',
      bound_region: HOME.region,
      revoke_on_termination: true,
      token_policies: 'admin',
    })
    const { instance, token } = await loggedIn()
    const other = (await loginAs(path, instance, { role: 'ends', nonce: 'n' })).body.auth.client_token
    await ends(instance)
    expect([await answerOf(token), await answerOf(other)]).toEqual([DEAD, DEAD])
  })
})

describe('a record of an instance', () => {
  test('is kept for the longest token, also by a renewal', async () => {
    const { instance, token } = await loggedIn()
    await done('POST', `${mount}/role/short`, {
      auth_type: 'ec2',
      bound_region: HOME.region,
      revoke_on_termination: true,
      token_policies: 'admin',
      token_ttl: '1h',
      token_max_ttl: '200h',
    })
    const short = (await loginAs(mount, instance, { role: 'short', nonce: 'n' })).body.auth.client_token
    clock.advance(50 * 3600)
    expect([await answerOf(token), await answerOf(short)]).toEqual(['200 ', DEAD])
    await done('POST', '/auth/token/renew-self', { increment: '100h' }, { token })
    clock.advance(90 * 3600)
    expect(await answerOf(token)).toBe('200 ')
    clock.advance(11 * 3600)
    expect(await answerOf(token)).toBe(DEAD)
  })
})

describe('a child that revoke-orphan has made an orphan', () => {
  test('outlives the login with its own children, is renewed, and ends with the instance', async () => {
    const { instance, token } = await loggedIn()
    const child = await childOf(token, { ttl: '200h', policies: ['admin'] })
    const grandchild = await childOf(child, { ttl: '300h' })
    await done('POST', '/auth/token/revoke-orphan', { token })
    clock.advance(150 * 3600)
    expect([await answerOf(token), await answerOf(child), await answerOf(grandchild)]).toEqual([
      expect.stringMatching(/^403/),
      '200 ',
      '200 ',
    ])
    await done('POST', '/auth/token/renew-self', { increment: '200h' }, { token: child })
    clock.advance(140 * 3600)
    expect([await answerOf(child), await answerOf(grandchild)]).toEqual(['200 ', '200 '])
    await ends(instance)
    expect([await answerOf(child), await answerOf(grandchild)]).toEqual([DEAD, DEAD])
  })
})

describe('the round that asks EC2', () => {
  test('ends tokens whose event was lost, and asks about several instances at once', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => loggedIn()))
    const [gone, terminated, stopped, ...running] = made.map(({ instance }) => placeOf(instance))
    if (gone) await aws.deleteInstance(gone)
    if (terminated) await aws.setInstance({ ...terminated, state: 'terminated' })
    if (stopped) await aws.setInstance({ ...stopped, state: 'stopped' })
    expect(running).toHaveLength(2)
    const calls = callWatch()
    await calls()
    await round()
    const asked = (await calls()).filter(({ action }) => action === 'DescribeInstances')
    expect(asked.length).toBeLessThan(made.length)
    expect(await Promise.all(made.map(({ token }) => answerOf(token)))).toEqual([
      DEAD,
      DEAD,
      '200 ',
      '200 ',
      '200 ',
    ])
  })

  test('leaves an account whose EC2 fails for the next round', async () => {
    const account = await satellite(mount)
    await done('POST', `${mount}/role/far`, {
      auth_type: 'ec2',
      bound_account_id: account,
      revoke_on_termination: true,
      token_policies: 'admin',
      token_ttl: '200h',
    })
    const { instance, token } = await loggedIn({ account }, { role: 'far' })
    await aws.deleteInstance(placeOf(instance))
    await aws.fault({ service: 'ec2', kind: 'error', times: 50 })
    await round()
    await aws.clearFaults()
    expect(await answerOf(token)).toBe('200 ')
    // the same day
    await invoke('on-account-facts')
    expect(await answerOf(token)).toBe('200 ')
    await round()
    expect(await answerOf(token)).toBe(DEAD)
  })
})

describe('logins of other types', () => {
  const jwtOf = async (from: TokenAccount, instanceId: string | undefined) =>
    tokenOf(from, {
      aws: instanceId
        ? { ec2_source_instance_arn: `arn:aws:ec2:eu-west-1:${from.account}:instance/${instanceId}` }
        : {},
    })
  const login = (path: string, jwt: string) =>
    api('POST', `${path}/login`, { jwt, role: 'app' }, { token: '', from: '127.0.9.9' })

  test('by token end with the instance that the token names, and need one', async () => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/identity`, { jwt_alias: 'instance_id' })
    await acceptTokens(path, {}, { revoke_on_termination: true })
    const from = await tokenAccount()
    const instanceId = `i-${fresh()}0`
    const first = await login(path, await jwtOf(from, instanceId))
    const { client_token: token } = first.body.auth
    expect(await answerOf(token)).toBe('200 ')
    const instance = { account: from.account, region: 'eu-west-1', instanceId } as Launched
    await ends(instance)
    expect(await answerOf(token)).toBe(DEAD)
    expect(errorsOf(await login(path, await jwtOf(from, instanceId)))).toBe('the instance has ended')
    await done('POST', `${path}/config/identity`, { jwt_alias: 'full_arn' })
    expect(errorsOf(await login(path, await jwtOf(from, undefined)))).toMatch(/^the role needs an instance/)
  })

  test('are refused after the end although the tokens of the instance have expired', async () => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/identity`, { jwt_alias: 'instance_id' })
    await acceptTokens(path, { max_token_age: '1h' }, { revoke_on_termination: true, token_ttl: '1m' })
    const from = await tokenAccount()
    const instanceId = `i-${fresh()}3`
    const [first, second] = [await jwtOf(from, instanceId), await jwtOf(from, instanceId)]
    expect((await login(path, first)).status).toBe(200)
    await ends({ account: from.account, region: 'eu-west-1', instanceId } as Launched)
    clock.advance(200)
    expect(errorsOf(await login(path, second))).toBe('the instance has ended')
  })

  test('succeed together for one instance, and an end at the same time leaves no token alive', async () => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/identity`, { jwt_alias: 'instance_id' })
    await acceptTokens(path, { single_use: false }, { revoke_on_termination: true })
    const from = await tokenAccount()
    const instanceId = `i-${fresh()}1`
    const jwt = await jwtOf(from, instanceId)
    const together = (count: number) => Promise.all(Array.from({ length: count }, () => login(path, jwt)))
    await login(path, await jwtOf(from, `i-${fresh()}2`))
    // the first login of the entity writes its alias, which the others would write too
    expect((await login(path, jwt)).status).toBe(200)
    clock.advance(120)
    const first = await together(8)
    expect(first.map(({ status }) => status)).toEqual(Array(8).fill(200))
    clock.advance(120)
    const [second] = await Promise.all([
      together(8),
      ends({ account: from.account, region: 'eu-west-1', instanceId } as Launched),
    ])
    const tokens = [...first, ...second].flatMap(({ body }) => body.auth?.client_token ?? [])
    expect(new Set(await Promise.all(tokens.map(answerOf)))).toEqual(new Set([DEAD]))
  })

  test('by signed request end with the inferred instance', async () => {
    const { path } = await freshMount()
    const account = await satellite(path)
    await aws.putRole({ account, name: 'app' })
    const { arn } = await aws.putInstanceProfile({ account, name: 'app', roles: ['app'] })
    const instance = await launch({ account, region: 'eu-west-1', instanceProfileArn: arn })
    await done('POST', `${path}/role/app`, {
      inferred_entity_type: 'ec2_instance',
      inferred_aws_region: 'eu-west-1',
      bound_account_id: account,
      revoke_on_termination: true,
    })
    const session = await aws.session({ account, role: 'app', session: instance.instanceId })
    const { body } = await loginWith(path, session, { role: 'app' })
    expect(await answerOf(body.auth.client_token)).toBe('200 ')
    await ends(instance)
    expect(await answerOf(body.auth.client_token)).toBe(DEAD)
  })
})

describe('a role', () => {
  const write = async (path: string, role: object) =>
    errorsOf(await api('POST', `${path}/role/${fresh('r')}`, { revoke_on_termination: true, ...role }))

  test('may have revoke_on_termination only if its logins name an instance', async () => {
    const { path } = await freshMount()
    await acceptTokens(path)
    const jwt = { auth_type: 'jwt', bound_account_id: '111122223333' }
    expect(await write(path, { bound_iam_principal_arn: 'arn:aws:iam::111122223333:user/*' })).toMatch(
      /^revoke_on_termination needs a role that infers/,
    )
    expect(await write(path, jwt)).toMatch(/^revoke_on_termination of a jwt role needs bound_ec2_instance_id/)
    expect(await write(path, { ...jwt, bound_ec2_instance_id: 'i-0123456789abcdef0' })).toBe('')
    await done('POST', `${path}/config/identity`, { jwt_alias: 'instance_id' })
    expect(await write(path, jwt)).toBe('')
    expect(await write(path, { auth_type: 'ec2', bound_account_id: '111122223333' })).toBe('')
  })

  test('shows the field only where it is set', async () => {
    const shown = async () => (await done('GET', `${mount}/role/ends`)).body.data
    expect((await shown()).revoke_on_termination).toBe(true)
    await done('POST', `${mount}/role/ends`, { revoke_on_termination: false })
    expect(await shown()).not.toHaveProperty('revoke_on_termination')
    await done('POST', `${mount}/role/ends`, { revoke_on_termination: true })
  })
})

describe('a token that ends with its instance needs', () => {
  const callsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
    await storage.reset()
    await work()
    return (await storage.calls()).map(({ operation }) => operation)
  }

  test('no read more than another token, and a login with it one read more', async () => {
    const { instance, token } = await loggedIn()
    await done('POST', `${mount}/role/plain`, {
      auth_type: 'ec2',
      bound_region: HOME.region,
      token_policies: 'admin',
    })
    const login = (role: string) => loginAs(mount, instance, { role, nonce: 'n' })
    const other = (await login('plain')).body.auth.client_token
    await answerOf(token)
    const [marked, plain] = [await callsOf(() => answerOf(token)), await callsOf(() => answerOf(other))]
    expect(marked).toEqual(plain)
    await login('ends')
    expect(await callsOf(() => login('ends'))).toEqual(
      [...(await callsOf(() => login('plain'))), READ].toSorted(),
    )
  })
  const READ = 'BatchGetItem'
})
