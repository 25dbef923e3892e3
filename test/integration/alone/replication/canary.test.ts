import { beforeAll, expect, test } from 'vitest'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import { readActivationClaims } from '../../../../shared/link/activation-token.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { TableNames } from '../../../../shared/storage/requests.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Searches every output of a set for its secrets, from its beginning to its first switch.

const R = '/sys/replication/dr'
const NAMES = ['east', 'west']

let set: ClusterSet
/** secrets by name, which must not appear in any output */
const canaries: [name: string, text: string][] = []
/** inputs of workflows and jobs; executions and queues store them */
const started: unknown[] = []

const canary = (name: string, text: string): string => {
  canaries.push([name, text])
  return text
}

/** Returns all encodings in which bytes might be written. */
const canaryBytes = (name: string, bytes: Buffer): void => {
  for (const encoding of ['hex', 'base64', 'base64url', 'latin1'] as const)
    canary(`${name}, as ${encoding}`, bytes.toString(encoding).replace(/=+$/, ''))
}

/** Records the arguments of a port's calls. */
function noted<T extends object>(port: T, member: keyof T): void {
  const call = port[member] as (...given: unknown[]) => unknown
  port[member] = ((...given: unknown[]) => {
    started.push(given)
    return call(...given)
  }) as T[keyof T]
}

beforeAll(async () => {
  set = await clusterSet(NAMES, { memory: true })
  for (const { ports } of set.members) {
    noted(ports.workflows, 'start')
    noted(ports.workflows, 'signal')
    noted(ports.background, 'start')
  }
  const [east, west] = [set.at('east'), set.at('west')]
  for (const { name, token, shares } of [east, west]) {
    canary(`root token of ${name}`, token())
    for (const share of shares) canaryBytes(`share of ${name}`, Buffer.from(share, 'hex'))
  }
  const secret = canary('configured secret key', 'a-secret-access-key-of-the-provider')
  await east.ok('POST', '/auth/cloud/config/client', { access_key: 'AKIAEXAMPLE', secret_key: secret })
  await set.enable('east')
  const { body: service } = await east.ok('POST', '/auth/token/create', { ttl: '1h' })
  canary('service token', service.auth.client_token)
  const { body: batch } = await east.ok('POST', '/auth/token/create', {
    ttl: '1h',
    type: 'batch',
    policies: ['default'],
  })
  canary('batch token', batch.auth.client_token)
  await activated('west', 'east', 'enable')
  west.useToken(east.token())
  await set.converge()
  const dr_operation_token = await generated('west')
  await west.ok('POST', `${R}/secondary/promote`, { dr_operation_token })
  await set.settled()
  await activated('east', 'west', 'update-primary', await generated('east'))
  await set.converge()
})

/** Makes a cluster follow another cluster, with a token that is encrypted for it. */
async function activated(name: string, primary: string, how: string, dr_operation_token?: string) {
  const { body } = await set.at(primary).ok('POST', `${R}/primary/secondary-token`, { id: `${name}-1` })
  const token = canary('activation token', body.wrap_info.token)
  canary('one-use part of an activation token', readActivationClaims(token)?.jti ?? '')
  await set.at(name).ok('POST', `${R}/secondary/${how}`, { token, dr_operation_token })
  await set.settled()
}

/** Runs a ceremony with the set's shares. */
async function generated(name: string): Promise<string> {
  const attempt = `${R}/secondary/generate-operation-token`
  const { nonce, otp } = (await set.at(name).ok('PUT', `${attempt}/attempt`, {})).body
  let encoded = ''
  for (const share of set.at('east').shares.slice(0, 3))
    encoded = (await set.at(name).ok('PUT', `${attempt}/update`, { nonce, key: share })).body.encoded_token
  canary('otp', otp)
  canary('encoded operation token', encoded)
  return canary('operation token', unmaskToken(encoded, otp) ?? '')
}

/** Returns the key bytes in the keyrings, which only KMS decrypts. */
async function keysOf(name: string): Promise<Buffer[]> {
  const { ports, kms } = set.at(name)
  const [item] = await ports.store.read([key('keyring')])
  const wrapped = JSON.stringify(item?.data).matchAll(/"wrappedKey":"([^"]+)"/g)
  const context = { keyring: item?.data.id ?? '' }
  return Promise.all(
    [...wrapped].map(async ([, text = '']) =>
      Buffer.from(await kms.unwrap({ wrappedKey: text, context } as never)),
    ),
  )
}

const holders = (where: unknown): string[] => {
  const text = typeof where === 'string' ? where : JSON.stringify(where)
  return canaries.flatMap(([name, secret]) =>
    secret !== '' && (text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)))
      ? [name]
      : [],
  )
}

test('this test’s search finds the secrets in the answers that must contain them', async () => {
  for (const name of NAMES)
    for (const bytes of await keysOf(name)) canaryBytes(`key of the keyring of ${name}`, bytes)
  const names = new Set(canaries.map(([name]) => name.replace(/,.*/, '')))
  expect(names.size).toBeGreaterThan(12)
  expect(canaries.filter(([, secret]) => secret.length < 16)).toEqual([])
  for (const [name, secret] of canaries) expect(holders({ deep: [{ in: secret }] })).toContain(name)
})

test('no input of an execution or job, no log, no audit log and no event contains a secret', () => {
  expect(started.length).toBeGreaterThan(5)
  expect(holders(started)).toEqual([])
  for (const { told, audited, events } of set.members) {
    expect(audited.length).toBeGreaterThan(5)
    expect([holders(told), holders(audited), holders(events)]).toEqual([[], [], []])
  }
  expect(set.members.flatMap(({ events }) => events)).not.toEqual([])
})

test('no table and no journal entry contains a secret, so neither does a backup or a stream', async () => {
  const { members } = await set.snapshot()
  for (const { name, items } of members)
    for (const table of Object.keys(items) as (keyof TableNames)[])
      expect([name, table, holders(items[table])]).toEqual([name, table, []])
  for (const { name, head, ports } of set.members) {
    const { lineage, retainedFrom, last } = await head()
    const entries = await ports.journal.entries(lineage, retainedFrom, last)
    expect(entries.length).toBeGreaterThan(3)
    expect([name, holders(entries)]).toEqual([name, []])
  }
})
