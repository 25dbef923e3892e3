import { describe, expect, test } from 'vitest'
import { iamLoginPhases } from '../../../../shared/auth-method/login-iam/login.ts'
import type { Instance } from '../../../../shared/model/instance.ts'
import type { Role } from '../../../../shared/model/role.ts'
import type { StsAnswer } from '../../../../shared/ports.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { usualInstance } from '../../../builders/ec2-facts.ts'
import { iamRole, inferringRole } from '../../../builders/roles.ts'
import { request } from '../../../builders/signed-request.ts'
import { stsAnswer, stsError, usualCaller } from '../../../builders/sts-answer.ts'
import { item } from '../../../support/tables/items.ts'
import { NOW } from '../../tokens/support.ts'
import { aliasItem, attemptsAt, outcomeOf, writtenBy } from '../login/attempts.ts'

const accessor = 'auth_cloud_1'
const place = key('role', accessor, 'app')
const uniqueId = usualCaller.UserId.split(':')[0] ?? ''
const bound = { boundIamPrincipalIds: [uniqueId] }
const wild = { boundIamPrincipalIds: [], boundIamPrincipalArns: ['arn:aws:iam::111122223333:role/team/*'] }

interface World {
  role?: Role
  sts?: StsAnswer
  instance?: Partial<Instance>
  path?: string
  others?: Item[]
  /** milliseconds until STS answers */
  late?: number
}

/** Builds a login of a role session. */
function world({
  role = iamRole(bound),
  sts = stsAnswer(),
  instance = {},
  path = 'team',
  others = [],
  late = 0,
}: World = {}) {
  const asked: string[] = []
  const noting =
    <T>(name: string, answer: T) =>
    async () => {
      asked.push(name)
      return answer
    }
  const attempts = attemptsAt({
    items: [item(place, role), ...others],
    provider: {
      clock: { now: () => (asked.includes('STS') ? NOW + late : NOW) },
      callerIdentity: { forward: noting('STS', sts) },
      instances: { describe: noting('EC2', { ...usualInstance, ...instance }) },
      principals: { find: noting('IAM', { arn: `arn:aws:iam::111122223333:role/${path}/app`, uniqueId }) },
    },
  })
  const login = () => attempts.attempt(iamLoginPhases, { type: 'iam', request: request() })
  return { ...attempts, asked, login, outcome: () => outcomeOf(login) }
}

describe('an iam login', () => {
  test('a request that STS rejects is rejected before the role is read', async () => {
    const { outcome, read } = world({ sts: stsError(403, 'SignatureDoesNotMatch') })
    await expect(outcome()).rejects.toThrow('not signed validly')
    expect(read).toEqual(['client-config client'])
  })

  test("after STS answers, the login reads again, with the keys that the caller's identity gives", async () => {
    const { login, asked, drawn } = world()
    expect(await login()).toEqual({
      kind: 'reread',
      keys: [key('client-config', accessor), key('identity-config', accessor), place],
    })
    expect([asked, drawn.bytes]).toEqual([['STS'], 0])
  })

  test('an unbound principal is rejected before the calls to IAM and EC2', async () => {
    const { outcome, asked } = world({ role: inferringRole({ boundIamPrincipalIds: ['AROAOTHER'] }) })
    await expect(outcome()).rejects.toThrow('principal is not bound')
    expect(asked).toEqual(['STS'])
  })

  test("a login from a network outside the role's CIDRs is rejected before the call to IAM", async () => {
    const { outcome, asked } = world({ role: iamRole({ ...wild, token: { boundCidrs: ['10.0.0.0/8'] } }) })
    await expect(outcome()).rejects.toMatchObject({ reason: { why: 'source-address' } })
    expect(asked).toEqual(['STS'])
  })

  test('a principal whose path in IAM does not match the wildcard is rejected', async () => {
    const { outcome, asked, drawn } = world({ role: iamRole(wild), path: 'other' })
    await expect(outcome()).rejects.toThrow('principal is not bound')
    expect([asked[0], asked.includes('IAM'), drawn.bytes]).toEqual(['STS', true, 0])
  })

  test('a login from an inferred instance that does not run is rejected', async () => {
    const { outcome, drawn } = world({ role: inferringRole(bound), instance: { state: 'stopped' } })
    await expect(outcome()).rejects.toThrow('not running')
    expect(drawn.bytes).toBe(0)
  })

  test('after STS and EC2 answer, the login uses the currently stored role and asks each service once', async () => {
    const { login, asked, stored } = world({ role: inferringRole(bound) })
    await login()
    expect(await login()).toEqual({ kind: 'reread', keys: [] })
    stored.put(item(place, inferringRole({ boundIamPrincipalIds: ['AROAOTHER'] })))
    await expect(login()).rejects.toThrow('principal is not bound')
    expect(asked).toEqual(['STS', 'EC2'])
  })

  test("the token's TTL starts after the answer of STS", async () => {
    const { changes = [] } = await world({ late: 9000 }).outcome()
    const token = changes.find(change => change.key.kind === 'token')
    expect(token).toMatchObject({ data: { createdAt: NOW + 9000 } })
    const { data, times } = token as { data: { ttl: number }; times: object }
    expect(times).toEqual({ expires: Math.floor(NOW / 1000) + 10 + data.ttl })
  })

  test('one commit writes token and entity, and no access-list entry', async () => {
    const { outcome, commits } = world({ role: inferringRole(bound) })
    const result = await outcome()
    expect(result.answer).toMatchObject({
      kind: 'auth',
      auth: { policies: ['default', 'dev', 'prod'], metadata: { auth_type: 'iam' } },
    })
    expect(writtenBy(result)).toEqual(['alias', 'alias-id', 'entity', 'token'])
    expect([result.afterwards, commits]).toEqual([undefined, []])
  })

  test('a repeated login commits only its token, and writes changed metadata afterwards', async () => {
    const { outcome, commits } = world({ others: [aliasItem(iamRole().roleId, { account_id: 'before' })] })
    const result = await outcome()
    expect(writtenBy(result)).toEqual(['token'])
    await result.afterwards?.()
    expect(commits).toMatchObject([
      [{ kind: 'put', key: { kind: 'alias' }, data: { metadata: { auth_type: 'iam' } } }],
    ])
  })
})
