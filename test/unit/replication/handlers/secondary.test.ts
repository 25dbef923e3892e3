import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import {
  generateSignerKey,
  makeActivationJwt,
  parseSignerKey,
  sealActivationToken,
} from '../../../../shared/link/activation-token.ts'
import { generateLinkKeyPairs, linkPublicKeysOf, parseLinkKeyPairs } from '../../../../shared/link/pair.ts'
import type { ClusterMode, ClusterRecord } from '../../../../shared/model/cluster.ts'
import type { OperationState } from '../../../../shared/model/operation.ts'
import { becomeSecondary } from '../../../../shared/replication/handlers/secondary.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { type EncryptedText, Secret } from '../../../../shared/values/secret.ts'
import { clusterItem } from '../../../builders/cluster-record.ts'
import { callWith, fetchedItems } from '../../../support/requests/call.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const NOW = 1_700_000_000_000
const signer = parseSignerKey(generateSignerKey())
const tokenUntil = (exp: number): string =>
  makeActivationJwt(signer, {
    jti: 'j',
    addr: 'https://a.example',
    id: 'west',
    set: 'set-1',
    primaryKey: 'AAAA',
    exchangeKey: Buffer.alloc(32, 7).toString('base64url'),
    iat: NOW / 1000 - 60,
    exp,
  })
const TOKEN = tokenUntil(NOW / 1000 + 60)
/** A cipher that encrypts nothing. */
const cipher = {
  encrypt: async (_: unknown, __: string, text: string) => text as EncryptedText,
  decrypt: async (_: unknown, __: string, text: string) => new Secret(text),
}

interface World {
  mode?: ClusterMode
  record?: Partial<ClusterRecord>
  verdicts?: ('done' | 'conflict')[]
  items?: Item[]
  /** the operation's state after some polls */
  becomes?: Partial<OperationState>
}

function world({ mode = 'disabled', record: parts = {}, verdicts = [], items = [], becomes }: World = {}) {
  const record = clusterItem({ id: 'c-1', name: 'west', mode, ...parts })
  const { store, as, commits } = memoryStore([record, ...items], { verdicts })
  const [started, notes]: [string[], unknown[]] = [[], []]
  const clock = { ms: NOW }
  const sleep = async (ms: number): Promise<void> => {
    clock.ms += ms
  }
  const read = async (keys: readonly { kind: string; pk: string; sk: string }[]) => {
    const [found] = (await store.read(keys as never)) as unknown as [Item<'operation'>]
    return [found && becomes ? { ...found, data: { ...found.data, ...becomes } } : found]
  }
  const fetched = fetchedItems()
  fetched.keep(record, record)
  for (const item of items) fetched.keep(item, item)
  const callOf = (given: Record<string, unknown>) =>
    callWith({
      parameters: given,
      fetched,
      now: NOW,
      cluster: { record: record.data, readAt: NOW },
      ports: {
        cipher,
        authorities: { shipped: async () => new Map() },
        deployment: { apiAddress: '', plainEndpoints: false },
        store: { ...as('replication'), read },
        entropy: { bytes: randomBytes, uuid: randomUUID },
        clock: { now: () => clock.ms, sleep },
        audit: { write: async (entry: unknown) => void notes.push(entry) },
        workflows: {
          start: async (name: string, id: string) => {
            started.push(`${name} ${id}`)
            return 'runs'
          },
        },
      },
    }) as Call<never>
  return {
    enable: (given: Record<string, unknown>) => becomeSecondary(callOf(given)),
    commits,
    started,
    notes,
  }
}

const codeAndText = (error: { code: string; message: string }) =>
  `${error.code}: ${error.message.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '<id>')}`

describe('the endpoint secondary/enable', () => {
  test('secondary/enable begins an operation in one commit, starts its workflow with the id only, and waits for the primary', async () => {
    const { enable, commits, started, notes } = world({ becomes: { step: 'close' } })
    const { answer, changes } = await enable({ token: TOKEN, primary_api_addr: 'b.example' })
    expect(answer).toEqual({
      kind: 'nothing',
      warnings: [expect.stringContaining('has admitted this cluster')],
    })
    expect(changes).toBeUndefined()
    const [[operation, record] = []] = commits
    const id = operation && operation.kind === 'put' ? operation.key.sk : ''
    expect(operation).toMatchObject({
      kind: 'put',
      key: key('operation', id),
      expected: 'absent',
      data: {
        status: 'running',
        step: 'handshake',
        activation: {
          token: TOKEN,
          primaryApiAddr: 'https://b.example',
          address: 'https://abc.example.com',
        },
      },
    })
    expect(record).toMatchObject({
      kind: 'put',
      key: { kind: 'cluster' },
      expected: { rev: 'r' },
      data: { operation: id },
    })
    expect(started).toEqual([`activation ${id}`])
    expect(notes).toEqual([expect.objectContaining({ event: 'activation', operation: id, cluster: 'c-1' })])
  })

  test('secondary/enable accepts a token encrypted for its newest key only', async () => {
    const text = generateLinkKeyPairs(randomBytes)
    const pending: Item<'pending-key'> = item(
      key('pending-key'),
      { pair: text as EncryptedText, createdAt: 0 },
      'p',
    )
    const sealed = sealActivationToken(linkPublicKeysOf(parseLinkKeyPairs(text)).exchange, TOKEN, randomBytes)
    const { enable } = world({ items: [pending], becomes: { step: 'close' } })
    expect((await enable({ token: sealed })).answer.kind).toBe('nothing')
    const other = sealActivationToken(
      linkPublicKeysOf(parseLinkKeyPairs(generateLinkKeyPairs(randomBytes))).exchange,
      TOKEN,
      randomBytes,
    )
    expect(await enable({ token: other }).catch(codeAndText)).toContain('token is not an activation token')
    expect(await world().enable({ token: sealed }).catch(codeAndText)).toContain(
      'token is not an activation token',
    )
  })

  const MAKE =
    'make a token on the primary by POST sys/replication/dr/primary/secondary-token; a token for a public key needs the newest public key of this cluster'
  test.each<[name: string, given: Record<string, unknown>, world: World, text: string]>([
    [
      'a malformed token',
      { token: 'x.y.z' },
      {},
      `invalid_request: token is not an activation token for this cluster; ${MAKE}`,
    ],
    [
      'an expired token',
      { token: tokenUntil(NOW / 1000) },
      {},
      'invalid_request: token has expired; make another token on the primary by POST sys/replication/dr/primary/secondary-token with replace=true',
    ],
    [
      'a primary',
      { token: TOKEN },
      { mode: 'primary' },
      'invalid_request: this cluster is a DR primary; if the data of this cluster may be lost, end its set by POST sys/replication/dr/primary/disable first',
    ],
    [
      'a second role change',
      { token: TOKEN },
      { record: { operation: 'other' } },
      'busy: another role change of this cluster is under way; repeat the request when GET sys/replication/dr/status shows that the role change has ended',
    ],
    [
      'a concurrent role change',
      { token: TOKEN },
      { verdicts: ['conflict'] },
      'busy: another role change of this cluster is under way; repeat the request when GET sys/replication/dr/status shows that the role change has ended',
    ],
    [
      'a certificate file that the deployment does not contain',
      { token: TOKEN, ca_file: 'ca.pem' },
      {},
      'invalid_request: ca_file: this deployment has no certificate files; name a file or folder relative to the folder in the setting caBundles, or give the certificates as ca_cert',
    ],
    [
      'an invalid certificate',
      { token: TOKEN, ca_cert: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      {},
      'invalid_request: ca_cert, ca_file and ca_path must contain nothing but PEM certificates of authorities; leave the three fields out if a public authority issued the certificate of the primary',
    ],
    [
      'a token that the primary refuses',
      { token: TOKEN },
      {
        becomes: {
          status: 'failed',
          fault: { code: 'activation_failed', text: 'it was refused; what to do' },
        },
      },
      'activation_failed: it was refused; what to do',
    ],
    [
      'a token that the workflow finds unusable',
      { token: TOKEN },
      { becomes: { status: 'failed', fault: { code: 'invalid_request', text: 'no token' } } },
      'invalid_request: no token',
    ],
    [
      'an operation that takes too long',
      { token: TOKEN },
      {},
      'busy: the operation <id> (activation) is still running, at the step handshake; GET sys/replication/dr/status shows the progress of the operation',
    ],
  ])('secondary/enable rejects %s', async (_, given, parts, text) => {
    expect(await world(parts).enable(given).catch(codeAndText)).toBe(text)
  })

  test('a rejected request to secondary/enable has changed nothing', async () => {
    const { enable, commits, started } = world()
    for (const token of ['', 'x', 'x.y.z', tokenUntil(NOW / 1000)])
      await enable({ token }).catch(() => undefined)
    await enable({ token: TOKEN, ca_path: 'x' }).catch(() => undefined)
    await enable({ token: TOKEN, primary_api_addr: 'http://far.example' }).catch(() => undefined)
    expect([commits, started]).toEqual([[], []])
  })
})
