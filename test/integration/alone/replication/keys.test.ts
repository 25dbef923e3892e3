import { beforeEach, expect, test } from 'vitest'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import type { AccessKeys } from '../../../../shared/ports.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// What a disaster leaves of keys: those at the provider, and those of KMS, of which each cluster has its own.

const R = '/sys/replication/dr/secondary'
const CLIENT = '/auth/cloud/config/client'

let from: Warm | undefined
let set: ClusterSet
let provider: ReturnType<typeof imitatedKeys>

beforeEach(async () => {
  from ??= await warmSnapshot({ memory: true, names: ['east', 'west'] })
  set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
  for (const { kms } of set.members) kms.setEnabled(true)
  provider = imitatedKeys()
  for (const { ports } of set.members) ports.accessKeys = provider.port
  const { accessKey, secretKey } = provider.made()
  await set.at('east').ok('POST', CLIENT, { access_key: accessKey, secret_key: secretKey })
  await set.converge()
})

/** Access keys of one user at a provider that all clusters call: a key is its id and its secret. */
function imitatedKeys() {
  const keys = new Map<string, string>()
  let count = 0
  const made = () => {
    count += 1
    const [accessKey, secretKey] = [`AKIA${count}`, `secret of ${count}`]
    keys.set(accessKey, secretKey)
    return { accessKey, secretKey }
  }
  const isGood = ({ credentials }: Parameters<AccessKeys['works']>[0]): boolean =>
    credentials !== undefined && keys.get(credentials.accessKey) === credentials.secretKey.reveal()
  const checked = (settings: Parameters<AccessKeys['works']>[0]): void => {
    if (!isGood(settings)) throw new Error('the key is not accepted')
  }
  const port: AccessKeys = {
    owner: async settings => {
      checked(settings)
      return { userName: 'cloud-auth' }
    },
    list: async settings => {
      checked(settings)
      return [...keys.keys()].map(accessKey => ({ accessKey, createdAt: 0 }))
    },
    create: async settings => {
      checked(settings)
      const { accessKey, secretKey } = made()
      return { accessKey, secretKey: new Secret(secretKey) }
    },
    delete: async (settings, _user, accessKey) => {
      checked(settings)
      keys.delete(accessKey)
    },
    works: async settings => isGood(settings),
  }
  return { made, port, ids: () => [...keys.keys()] }
}

/** What holders of the set's shares make on west. */
async function operationToken(): Promise<string> {
  const west = (path: string, body: object) =>
    set.at('west').ok('PUT', `${R}/generate-operation-token/${path}`, body, { token: '' })
  const { nonce, otp } = (await west('attempt', {})).body
  let encoded = ''
  for (const key of set.at('east').shares.slice(0, 3))
    encoded = (await west('update', { nonce, key })).body.encoded_token
  return unmaskToken(encoded, otp) ?? ''
}

const health = (name: string) => set.at(name).request('GET', '/sys/health')
const rotate = (name: string) => set.at(name).ok('POST', '/auth/cloud/config/rotate-root')
const configured = async (name: string): Promise<string> =>
  (await set.at(name).ok('GET', CLIENT)).body.data.access_key

/** East dies with its KMS key, and west, without anything in memory, takes over. */
async function disaster(): Promise<void> {
  set.cut('east', 'west')
  set.at('east').kms.setEnabled(false)
  for (const name of ['east', 'west']) set.at(name).newMemory()
  const given = { dr_operation_token: await operationToken(), force: true }
  const reply = await set.at('west').request('POST', `${R}/promote`, given, { token: '' })
  expect(reply.status, reply.text).toBe(200)
  await set.settled()
  set.at('west').newMemory()
}

test('a key that was rotated right before is the one that the new primary works with, by its own KMS key alone', async () => {
  const before = await configured('east')
  // west tells how far it is while east waits for it
  const rotated = rotate('east')
  for (let rounds = 0; rounds < 3; rounds++) {
    await set.clock.sleep(1000)
    await set.at('west').pull()
  }
  expect((await rotated).body.warnings ?? []).toEqual([])
  const now = await configured('east')
  expect(provider.ids()).toEqual([now])
  expect(now).not.toBe(before)

  await disaster()
  expect(await configured('west')).toBe(now)
  // it opens the secret, and goes on from it: also under a new term of the keyring
  expect((await rotate('west')).status).toBe(200)
  await set.at('west').ok('POST', '/sys/rotate')
  expect((await rotate('west')).status).toBe(200)
  expect(provider.ids()).toEqual([await configured('west')])
  expect((await set.at('west').ok('GET', '/auth/token/lookup-self')).status).toBe(200)
  // east itself opens nothing any more
  expect((await set.at('east').request('POST', CLIENT, { secret_key: 'other' })).status).toBe(503)
})

test('while a connected secondary lacks the new key, the old one stays, and works after a disaster', async () => {
  const before = await configured('east')
  await set.at('west').pull()
  set.trap({ cluster: 'west', process: 'on-pull', step: 'Entries', at: 1, when: 'before', does: 'dies' })
  const { body } = await rotate('east')
  expect(body.warnings).toEqual([expect.stringMatching(/a secondary does not have the new one yet/)])
  const now = await configured('east')
  expect(provider.ids().sort()).toEqual([before, now].sort())

  await disaster()
  expect(await configured('west')).toBe(before)
  await set.at('west').ok('POST', CLIENT, { access_key: before, secret_key: 'secret of 1' })
  expect(
    (await set.at('west').request('POST', '/auth/cloud/config/rotate-root')).status,
    'two are there',
  ).toBe(400)
})

test('a secondary whose own KMS key is disabled takes nothing over, not by force either, and the primary serves', async () => {
  const given = { dr_operation_token: await operationToken() }
  const asked = await set.at('west').request('POST', `${R}/license/status`, given, { token: '' })
  expect(asked.status, 'the function is warm').toBe(200)
  set.at('west').kms.setEnabled(false)
  // what is in memory still opens: only who unwraps it anew finds out, and without memory nobody opens anything
  for (const [memory, force, text] of [
    ['warm', false, /keyring does not open.*force does not help/],
    ['warm', true, /keyring does not open.*force does not help/],
    ['cold', true, /keyring of this cluster cannot be decrypted/],
  ] as const) {
    if (memory === 'cold') set.at('west').newMemory()
    const reply = await set.at('west').request('POST', `${R}/promote`, { ...given, force }, { token: '' })
    expect([reply.status, reply.text]).toEqual([503, expect.stringMatching(text)])
    await set.settled()
    expect([(await health('east')).status, (await health('west')).status]).toEqual([200, 472])
  }
  await set.at('east').ok('POST', '/sys/policies/acl/still', { policy: 'path "a" {}' })
})
