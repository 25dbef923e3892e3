import { beforeAll, describe, expect, test } from 'vitest'
import { alarmRows } from '../../../../infra/watching/alarms.ts'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import { endpointGroups } from '../../../../shared/endpoints/all.ts'
import { ceremonyGroup } from '../../../../shared/endpoints/ceremony.ts'
import { createDispatcher } from '../../../../shared/http/dispatch.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { asFunction } from '../../../support/iam/judge.ts'
import { fits } from '../../../support/service/filter-pattern.ts'
import { having } from '../../../support/set/member-ports.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

const R = '/sys/replication/dr/secondary'
const GENERATE = `${R}/generate-operation-token`
const DELETE = `${R}/operation-token/delete`
const POLICY = `path "sys/replication/dr/secondary/*" { capabilities = ["update"] }`

let set: ClusterSet
/** a token made on the primary before the disaster */
let prepared = ''
/** a token like `prepared`, but without the operator's policy */
let narrow = ''
/** secrets that must not appear in any output */
const canaries: string[] = []

const anonymous = { token: '' }
const west = (method: string, path: string, body?: unknown, options: object = anonymous) =>
  set.at('west').request(method, path, body, options)

/** Runs a ceremony on the secondary with the primary's shares. */
async function generated(): Promise<string> {
  // the service allows ten starts a minute
  set.pass(60_000)
  const { body: started } = await west('PUT', `${GENERATE}/attempt`, {})
  expect(started).toMatchObject({ started: true, required: 3, progress: 0 })
  const { nonce, otp } = started
  let encoded = ''
  for (const share of set.at('east').shares.slice(0, 3)) {
    const { body } = await west('PUT', `${GENERATE}/update`, { nonce, key: share })
    encoded = body.encoded_token
    canaries.push(share, Buffer.from(share, 'hex').toString('base64'))
  }
  const text = unmaskToken(encoded, otp) ?? ''
  canaries.push(otp, encoded, text)
  return text
}

beforeAll(async () => {
  set = await clusterSet(['east', 'west'])
  const east = set.at('east')
  await set.enable('east')
  await east.ok('POST', '/sys/policies/acl/operators', { policy: POLICY })
  const role = { allowed_policies: 'operators', orphan: true, renewable: false, token_type: 'batch' }
  await east.ok('POST', '/auth/token/roles/failover', role)
  const { body } = await east.ok('POST', '/auth/token/create/failover', { ttl: '8h', policies: 'operators' })
  prepared = body.auth.client_token
  const other = { type: 'batch', policies: ['default'], no_parent: true }
  narrow = (await east.ok('POST', '/auth/token/create', other)).body.auth.client_token
  canaries.push(prepared, narrow)
  await set.join('west', 'east')
  await set.converge()
  // from here on the primary counts as dead
  set.cut('east', 'west')
  set.kill('east')
})

/** All operations that need an operation token, with their other required parameters. */
const operations = endpointGroups
  .flatMap(({ endpoints }) => endpoints)
  .filter(({ access }) => access.by === 'operation-token')
  .map(({ path }) => path)

describe('ceremonies on a secondary with a dead primary', () => {
  test('a root token of the set begins and cancels an attempt; other tokens cannot cancel that attempt', async () => {
    const attempt = `${GENERATE}/attempt`
    const root = { token: set.at('east').token() }
    expect((await west('PUT', attempt, {}, root)).status).toBe(200)
    for (const stranger of [anonymous, { token: prepared }])
      expect((await west('DELETE', attempt, undefined, stranger)).status).toBe(403)
    expect((await west('DELETE', attempt, undefined, root)).status).toBe(204)
    expect((await west('PUT', attempt, {})).status).toBe(200)
    expect((await west('DELETE', attempt)).status).toBe(204)
  })

  test('with closed ceremonies a root token of the primary begins an attempt, and a stranger cannot', async () => {
    const ports = set.at('west').as('ceremony')
    const served = createDispatcher(
      ceremonyGroup,
      having(ports, { deployment: { ...ports.deployment, strictCeremony: true } }),
    )
    const ask = async (method: string, token: string) => {
      const request = { method, path: `/v1${GENERATE}/attempt`, query: [], body: '', bodyLength: 0 }
      const from = { source: '192.0.2.1', domain: '', gatewayId: 'g', deadline: ports.clock.now() + 10_000 }
      const headers = token ? { 'x-vault-token': token } : {}
      const { response } = await asFunction('ceremony', () => served({ ...request, ...from, headers }))
      return response.status
    }
    const root = set.at('east').token()
    expect([await ask('PUT', ''), await ask('PUT', root), await ask('DELETE', '')]).toEqual([403, 200, 403])
    expect(await ask('DELETE', root)).toBe(204)
  })

  test('holders of the primary’s recovery shares make a valid operation token; a deleted operation token is invalid', async () => {
    const text = await generated()
    expect((await west('GET', `${GENERATE}/attempt`)).body).toMatchObject({
      started: false,
      otp_length: text.length,
    })
    expect((await west('POST', DELETE, { dr_operation_token: text })).status).toBe(204)
    expect((await west('POST', DELETE, { dr_operation_token: text })).status).toBe(403)
  })

  test('shares from the secondary’s own initialisation are rejected', async () => {
    const { nonce } = (await west('PUT', `${GENERATE}/attempt`, {})).body
    const replies = []
    for (const share of set.at('west').shares.slice(0, 3))
      replies.push(await west('PUT', `${GENERATE}/update`, { nonce, key: share }))
    expect(replies.map(({ status }) => status)).toEqual([400, 400, 400])
    expect((await west('GET', `${GENERATE}/attempt`)).body).toMatchObject({ started: true, progress: 0 })
    expect((await west('DELETE', `${GENERATE}/attempt`)).status).toBe(204)
  })

  test.each(operations)('%s is refused without an operation token, and with any other token', async path => {
    const text = await generated()
    const bare = await west('POST', path, {}, { token: set.at('east').token() })
    expect([bare.status, bare.body.errors[0]]).toEqual([
      400,
      expect.stringMatching(/^dr_operation_token is required/),
    ])
    for (const dr_operation_token of [set.at('east').token(), 'hvs.unknown', `${text}x`, 'hvb.x'])
      expect((await west('POST', path, { dr_operation_token })).status).toBe(403)
  })

  test('the generated token is invalid in the header', async () => {
    const token = await generated()
    expect((await west('POST', `${R}/generate-public-key`, {}, { token })).status).toBe(403)
    const root = { token: set.at('east').token() }
    expect((await west('POST', `${R}/generate-public-key`, {}, root)).status).toBe(200)
  })

  test('generate-public-key accepts the generated token in the body and prepared tokens, and no other tokens', async () => {
    const path = `${R}/generate-public-key`
    for (const dr_operation_token of [await generated(), prepared]) {
      const { status, body } = await west('POST', path, { dr_operation_token })
      expect([status, typeof body.data?.secondary_public_key]).toEqual([200, 'string'])
    }
    for (const dr_operation_token of [set.at('east').token(), narrow, 'hvs.unknown', 'hvb.x'])
      expect((await west('POST', path, { dr_operation_token })).status).toBe(403)
    // the token in the body is checked, whatever the header contains
    const root = { token: set.at('east').token() }
    expect((await west('POST', path, { dr_operation_token: 'hvs.unknown' }, root)).status).toBe(403)
    expect((await west('POST', path, {})).status).toBe(403)
  })

  test('a prepared batch token is accepted if its policies allow the call', async () => {
    const reply = await west('POST', DELETE, { dr_operation_token: prepared })
    expect([reply.status, reply.body.errors[0]]).toEqual([400, expect.stringContaining('cannot be revoked')])
  })
})

test('the alarm for operation tokens counts generated tokens, not failed attempts of strangers', async () => {
  const { audited } = set.at('west')
  const { pattern } = alarmRows.OperationToken.counts
  const counted = () =>
    audited.filter(entry => fits(pattern, JSON.stringify({ level: 'INFO', message: entry }))).length
  const before = counted()
  set.pass(60_000)
  const { nonce } = (await west('PUT', `${GENERATE}/attempt`, {})).body
  await west('GET', `${GENERATE}/attempt`)
  for (const share of set.at('west').shares.slice(0, 3))
    await west('PUT', `${GENERATE}/update`, { nonce, key: share })
  await west('DELETE', `${GENERATE}/attempt`)
  expect(counted()).toBe(before)
  await generated()
  expect(counted()).toBe(before + 1)
})

test('no log, audit log or table contains a secret; audit entries contain HMACs', async () => {
  expect(canaries.length).toBeGreaterThan(30)
  const { told, audited, ports } = set.at('west')
  const slot = await ports.store.read([key('ceremony'), key('operation-token'), key('watcher', 'watch')])
  const everywhere = JSON.stringify([told, audited, slot])
  for (const canary of canaries) expect(everywhere).not.toContain(canary)
  const entries = audited.filter(entry => JSON.stringify(entry).includes('generate-operation-token/update'))
  expect(entries.length).toBeGreaterThan(10)
})

test('an operation token that authorised a promotion is invalid after the promotion', async () => {
  const dr_operation_token = await generated()
  const reply = await west('POST', `${R}/promote`, { dr_operation_token, force: true })
  expect(reply.status, reply.text).toBe(200)
  await set.settled()
  expect((await set.at('west').record()).mode).toBe('primary')
  expect(await set.at('west').ports.store.read([key('operation-token')])).toEqual([undefined])
  const again = await west('POST', DELETE, { dr_operation_token })
  expect([again.status, again.body.errors[0]]).toEqual([400, expect.stringContaining('not a DR secondary')])
  expect(
    (await west('GET', '/auth/token/lookup-self', undefined, { token: dr_operation_token })).status,
  ).toBe(403)
})
