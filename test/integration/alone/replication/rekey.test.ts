import { beforeAll, expect, test } from 'vitest'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests that a recovery key that was replaced on the primary is the recovery key of the whole set, on each
// later primary.

const R = '/sys/replication/dr/secondary'
const GENERATE = `${R}/generate-operation-token`
const ROTATE = '/sys/rotate/recovery'

let set: ClusterSet
/** the answers of the initialisation and of the rekey */
let old: string[] = []
let fresh: string[] = []

beforeAll(async () => {
  set = await clusterSet(['east', 'west'])
  await set.enable('east')
  await set.join('west', 'east')
  await set.converge()
  old = set.at('east').shares
})

/** Returns the token that recovery shares make at a path, or undefined if they make no token. */
async function made(on: string, at: string, shares: readonly string[]): Promise<string | undefined> {
  // the service allows ten starts a minute
  set.pass(60_000)
  const ask = (method: string, path: string, body?: object) =>
    set.at(on).request(method, `${at}/${path}`, body, { token: '' })
  await ask('DELETE', 'attempt')
  const { nonce, otp } = (await ask('PUT', 'attempt', {})).body
  let encoded = ''
  for (const share of shares) {
    const { status, body } = await ask('PUT', 'update', { nonce, key: share })
    if (status === 200) encoded = body.encoded_token
  }
  return encoded === '' ? undefined : unmaskToken(encoded, otp)
}

const operationToken = (on: string, shares: readonly string[]) => made(on, GENERATE, shares)
const rootToken = (on: string, shares: readonly string[]) => made(on, '/sys/generate-root', shares)

/** Begins a rekey with verification, and provides enough of the current shares. */
async function pending(on: string, shares: readonly string[]) {
  const member = set.at(on)
  const asked = { secret_shares: 3, secret_threshold: 2, require_verification: true }
  const { nonce } = (await member.ok('POST', `${ROTATE}/init`, asked)).body.data
  const told = []
  for (const key of shares) told.push(await member.ok('PUT', `${ROTATE}/update`, { nonce, key }))
  return told.at(-1)?.body.data as { keys: string[]; verification_nonce: string }
}

async function promote(on: string, shares: readonly string[]): Promise<void> {
  const dr_operation_token = await operationToken(on, shares)
  const reply = await set.at(on).request('POST', `${R}/promote`, { dr_operation_token }, { token: '' })
  expect(reply.status, reply.text).toBe(200)
  await set.settled()
}

/** Makes a demoted cluster follow its successor. */
async function follow(name: string, primary: string): Promise<void> {
  const { body } = await set
    .at(primary)
    .ok('POST', '/sys/replication/dr/primary/secondary-token', { id: name })
  const dr_operation_token = await operationToken(name, fresh.slice(0, 2))
  const given = { token: body.wrap_info.token, dr_operation_token }
  const reply = await set.at(name).request('POST', `${R}/update-primary`, given, { token: '' })
  expect(reply.status, reply.text).toBe(200)
  await set.converge()
}

test('a secondary neither begins nor shows a rekey', async () => {
  for (const at of [ROTATE, '/sys/rekey-recovery-key'])
    for (const [method, path] of [
      ['GET', 'init'],
      ['POST', 'init'],
      ['DELETE', 'init'],
      ['POST', 'update'],
      ['GET', 'verify'],
      ['POST', 'verify'],
      ['DELETE', 'verify'],
    ] as const) {
      const { status, body } = await set.at('west').request(method, `${at}/${path}`)
      expect([status, body.errors[0]]).toEqual([400, expect.stringContaining('path disabled')])
    }
})

test('new shares make an operation token on the secondary once the secondary has applied the rekey, and old shares do not', async () => {
  const west = (method: string, path: string, body?: object) =>
    set.at('west').request(method, `${GENERATE}/${path}`, body, { token: '' })
  const half = (await west('PUT', 'attempt', {})).body.nonce
  for (const key of old.slice(0, 2)) await west('PUT', 'update', { nonce: half, key })

  const { keys, verification_nonce: nonce } = await pending('east', old.slice(0, 3))
  await set.converge()
  // the rekey is not verified yet
  expect((await west('PUT', 'update', { nonce: half, key: keys[0] })).status).toBe(400)
  for (const key of keys.slice(0, 2)) await set.at('east').ok('PUT', `${ROTATE}/verify`, { nonce, key })
  fresh = keys
  await set.converge()

  for (const key of [old[2], fresh[0]])
    expect((await west('PUT', 'update', { nonce: half, key })).body.errors[0]).toMatch(/^no generation/)
  expect(await operationToken('west', old)).toBeUndefined()
  expect(await operationToken('west', fresh.slice(1))).toMatch(/^hvs\./)
})

test('a rekey attempt is invalid after the cluster had another role, even if the cluster is primary again', async () => {
  const before = await pending('east', fresh.slice(0, 2))
  await promote('west', fresh.slice(0, 2))
  const onEast = (method: string, path: string, body?: object) =>
    set.at('east').request(method, `${ROTATE}/${path}`, body)
  expect((await onEast('GET', 'init')).status).toBe(400)
  await follow('east', 'west')
  await promote('east', fresh.slice(0, 2))
  expect((await onEast('GET', 'init')).body.data).toMatchObject({ started: false, progress: 0 })
  const late = { nonce: before.verification_nonce, key: before.keys[0] }
  expect((await onEast('PUT', 'verify', late)).status).toBe(400)
})

test('after a forced promotion the new shares make a root token on the new primary, and the old shares do not', async () => {
  await follow('west', 'east')
  set.cut('east', 'west')
  set.kill('east')
  const dr_operation_token = await operationToken('west', fresh.slice(0, 2))
  const given = { dr_operation_token, force: true }
  const reply = await set.at('west').request('POST', `${R}/promote`, given, { token: '' })
  expect(reply.status, reply.text).toBe(200)
  await set.settled()
  expect(await rootToken('west', old)).toBeUndefined()
  const token = (await rootToken('west', fresh.slice(1))) ?? ''
  expect(
    (await set.at('west').request('GET', '/auth/token/lookup-self', undefined, { token })).body.data,
  ).toMatchObject({ policies: ['root'] })
  // a rekey works on the new primary too
  const { keys, verification_nonce: nonce } = await pending('west', fresh.slice(0, 2))
  for (const key of keys.slice(0, 2)) await set.at('west').ok('PUT', `${ROTATE}/verify`, { nonce, key })
  expect(await rootToken('west', fresh)).toBeUndefined()
  expect(await rootToken('west', keys)).toMatch(/^hvs\./)
})
