import { beforeEach, expect, test } from 'vitest'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import type { AccessKeyManager } from '../../../../shared/ports.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests which keys survive a disaster: access keys at AWS, and the KMS key that each cluster has of its own.

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

/**
 * Imitates the access keys of one IAM user at an AWS that all clusters call. A key is its ID and its secret.
 */
function imitatedKeys() {
  const keys = new Map<string, string>()
  let count = 0
  const made = () => {
    count += 1
    const [accessKey, secretKey] = [`AKIA${count}`, `secret of ${count}`]
    keys.set(accessKey, secretKey)
    return { accessKey, secretKey }
  }
  const isGood = ({ credentials }: Parameters<AccessKeyManager['works']>[0]): boolean =>
    credentials !== undefined && keys.get(credentials.accessKey) === credentials.secretKey.reveal()
  const checked = (settings: Parameters<AccessKeyManager['works']>[0]): void => {
    if (!isGood(settings)) throw new Error('the key is not accepted')
  }
  const port: AccessKeyManager = {
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

/** Makes an operation token on west with shares of the set. */
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

/** Lets east die together with its KMS key. West takes over with cold environments. */
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

test('an access key that was rotated right before works on the new primary, with only its own KMS key', async () => {
  const before = await configured('east')
  // west sends a heartbeat while the rotation on east waits for it
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
  // west decrypts the secret, and the rotation continues from it, also under a new term
  expect((await rotate('west')).status).toBe(200)
  await set.at('west').ok('POST', '/sys/rotate')
  expect((await rotate('west')).status).toBe(200)
  expect(provider.ids()).toEqual([await configured('west')])
  expect((await set.at('west').ok('GET', '/auth/token/lookup-self')).status).toBe(200)
  // east can no longer decrypt anything
  expect((await set.at('east').request('POST', CLIENT, { secret_key: 'other' })).status).toBe(503)
})

test('while a connected secondary lacks the new access key, the old access key stays valid, and works after a disaster', async () => {
  const before = await configured('east')
  await set.at('west').pull()
  set.trap({ cluster: 'west', process: 'on-pull', step: 'Entries', at: 1, when: 'before', does: 'dies' })
  const { body } = await rotate('east')
  expect(body.warnings).toEqual([expect.stringMatching(/a secondary does not have the new access key yet/)])
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

test('a secondary whose own KMS key is disabled cannot take over, even with force, and the primary serves', async () => {
  const given = { dr_operation_token: await operationToken() }
  const asked = await set.at('west').request('POST', `${R}/license/status`, given, { token: '' })
  expect(asked.status, 'the function is warm').toBe(200)
  set.at('west').kms.setEnabled(false)
  // a warm environment still decrypts; only unwrapping the keyring again shows the fault
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
