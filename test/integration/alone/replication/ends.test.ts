import type { Context } from 'aws-lambda'
import { beforeAll, expect, test } from 'vitest'
import { createInstanceEventHandler } from '../../../../shared/auth-method/ends/record-end.ts'
import type { Instance } from '../../../../shared/model/instance.ts'
import { ok } from '../../../../shared/values/result.ts'
import { createAccountFactsHandler } from '../../../../shared/workers/handlers.ts'
import { publicJwks, signToken, usualClaims } from '../../../builders/web-token.ts'
import { asFunction } from '../../../support/iam/judge.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Ends of instances across a planned switch and a forced promotion.

const NAMES = ['east', 'west']
const ACCOUNT = '111122223333'
const AWS = 'https://sts.amazonaws.com/'

let from: Warm
beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: NAMES })
})

/** Makes a pair whose mount `cloud` gives tokens that end with the instance; `described`: the answers of EC2. */
async function pairWithEnds() {
  const set = await clusterSet(NAMES, { from, memory: true })
  const keys = JSON.stringify({ keys: [{ ...publicJwks.rsa, kid: 'RSA_0', use: 'sig' }] })
  const described = new Map<string, Instance>()
  for (const name of NAMES) {
    const { ports } = set.at(name)
    ports.issuerKeys = { fetch: async () => ok(keys) }
    ports.instances = { describe: async (_, id) => described.get(id), load: async () => undefined }
    Object.assign(ports.deployment, { instanceEvents: true })
  }
  const east = set.at('east')
  await east.request('POST', '/sys/auth/cloud', { type: 'aws' })
  await east.ok('POST', '/auth/cloud/config/jwt', {
    bound_audiences: usualClaims.aud,
    organizations: 'o-a1b2c3d4e5',
    max_token_age: 3600,
    single_use: false,
  })
  await east.ok('POST', '/auth/cloud/config/identity', { jwt_alias: 'instance_id' })
  for (const type of ['service', 'batch'])
    await east.ok('POST', `/auth/cloud/role/${type}`, {
      auth_type: 'jwt',
      bound_organization_id: 'o-a1b2c3d4e5',
      revoke_on_termination: true,
      token_type: type,
    })
  await east.ok('POST', '/auth/cloud/role/plain', {
    auth_type: 'jwt',
    bound_organization_id: 'o-a1b2c3d4e5',
  })
  await set.converge()
  const doing = promotions(set)
  await doing.giveToken('west')
  return { set, doing, described }
}

const idOf = (n: number): string => `i-0123456789abcdef${n}`

async function logIn(set: ClusterSet, n: number, role = 'service'): Promise<string> {
  const iat = Math.floor(set.at('east').ports.clock.now() / 1000)
  const ec2_source_instance_arn = `arn:aws:ec2:eu-west-1:${ACCOUNT}:instance/${idOf(n)}`
  const jwt = signToken({
    ...usualClaims,
    iat,
    exp: iat + 300,
    jti: `${role}${n}`,
    [AWS]: { ...usualClaims[AWS], ec2_source_instance_arn },
  })
  const { body, status } = await set
    .at('east')
    .request('POST', '/auth/cloud/login', { jwt, role }, { token: '' })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.auth.client_token
}

const statusAt = async (set: ClusterSet, name: string, token: string): Promise<number> =>
  (await set.at(name).request('GET', '/auth/token/lookup-self', undefined, { token })).status

const send = (set: ClusterSet, name: string, n: number) =>
  asFunction('on-instance-event', () =>
    createInstanceEventHandler(set.at(name).as('on-instance-event'))({
      source: 'aws.ec2',
      'detail-type': 'EC2 Instance State-change Notification',
      account: ACCOUNT,
      detail: { 'instance-id': idOf(n), state: 'terminated' },
    }),
  )

const round = (set: ClusterSet, name: string) =>
  asFunction('on-account-facts', () =>
    createAccountFactsHandler(set.at(name).as('on-account-facts'))({}, {
      getRemainingTimeInMillis: () => 900_000,
    } as Context),
  )

test('an instance that ended before a planned switch is dead after it, and a secondary drops events', async () => {
  const { set, doing } = await pairWithEnds()
  const [dead, alive, batch] = [await logIn(set, 1), await logIn(set, 2), await logIn(set, 1, 'batch')]
  await send(set, 'east', 1)
  await set.converge()
  await send(set, 'west', 2)
  expect((await doing.promote('west')).status).toBe(200)
  await set.settled()
  expect(await statusAt(set, 'west', dead)).toBe(403)
  expect(await statusAt(set, 'west', batch)).toBe(403)
  expect(await statusAt(set, 'west', alive)).toBe(200)
  await send(set, 'west', 2)
  expect(await statusAt(set, 'west', alive)).toBe(403)
})

test('the round after a forced promotion ends instances whose end was lost, and the promotion warns', async () => {
  const { set, doing, described } = await pairWithEnds()
  const known = await logIn(set, 1)
  const kept = await logIn(set, 2)
  // its entity is known on both clusters, but no record of the instance
  await logIn(set, 3, 'plain')
  for (const n of [1, 2]) described.set(idOf(n), { id: idOf(n), state: 'running', tags: {} })
  await set.converge()
  await round(set, 'west')
  set.cut('east', 'west')
  await send(set, 'east', 1)
  const lost = await logIn(set, 3, 'batch')
  expect(await statusAt(set, 'east', known)).toBe(403)
  expect(await statusAt(set, 'east', lost)).toBe(200)
  set.pass(90_000)
  const { status, body } = await doing.promote('west', { force: true })
  expect(status).toBe(200)
  expect(String(body.warnings)).toContain(
    'ends of instances that the primary stored after that position are lost',
  )
  await set.settled()
  expect(await statusAt(set, 'west', known)).toBe(200)
  // its record was lost, so nobody knows whether its instance has ended
  expect(await statusAt(set, 'west', lost)).toBe(403)
  described.set(idOf(1), { id: idOf(1), state: 'terminated', tags: {} })
  await round(set, 'west')
  expect(await statusAt(set, 'west', known)).toBe(403)
  expect(await statusAt(set, 'west', kept)).toBe(200)
})

test('a cluster that changes its role fails, so that the event is delivered again', async () => {
  const { set } = await pairWithEnds()
  const { ports } = set.at('west')
  const { read } = ports.store
  // as between the request for a promotion and its last step
  ports.store.read = (async (keys: Parameters<typeof read>[0]) =>
    (await read(keys)).map(item =>
      item?.kind === 'cluster' ? { ...item, data: { ...item.data, operation: 'promotion' } } : item,
    )) as typeof read
  await expect(send(set, 'west', 1)).rejects.toThrow('changing its role')
})
