import { randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { closeServer, listenOnLoopback } from '../../../../infra/local/os/loopback.ts'
import { createKmsCipher } from '../../../../shared/adapters/aws/cipher.ts'
import { createKmsKeyFactory } from '../../../../shared/adapters/aws/key-factory.ts'
import { createLazyKms } from '../../../../shared/adapters/aws/kms.ts'
import { createCallMeter, systemEntropy } from '../../../../shared/adapters/aws/system.ts'
import { createLinkCarrier } from '../../../../shared/adapters/link/carrier.ts'
import type { JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { openActivationToken, readActivationClaims } from '../../../../shared/link/activation-token.ts'
import { makeOwnLinkKey } from '../../../../shared/link/admin/keys.ts'
import {
  formatLinkPublicKeys,
  generateLinkKeyPairs,
  linkPublicKeysOf,
  parseLinkKeyPairs,
} from '../../../../shared/link/pair.ts'
import { createSourceLink } from '../../../../shared/link/source-link.ts'
import { isStatementSignedBy } from '../../../../shared/link/statements.ts'
import { replaceItem } from '../../../../shared/storage/changes.ts'
import { itemPartitions, key } from '../../../../shared/storage/kinds.ts'
import { clock } from '../../../support/service/clock.ts'
import { api, cluster, done, fresh, invoke } from '../../../support/service/cluster.ts'
import { begun } from '../../../support/service/journal.ts'
import { linkGateway } from '../../../support/set/link.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { tableStore } from '../../../support/tables/store.ts'

// A deployed primary, with its link Lambda behind API Gateway, and clusters that follow it.

const { store, journal, commit } = tableStore(cluster)
const set = randomUUID()
let url = ''
let epoch = ''

beforeAll(async () => {
  const kms = createLazyKms(createCallMeter())
  const cipher = createKmsCipher({ store, clock, entropy: systemEntropy, kms })
  const begin = await begun(journal)
  epoch = begin.epoch
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('there is no cluster record')
  const server = createServer(linkGateway(async event => (await invoke('link', event)).body))
  url = await listenOnLoopback(server)
  const ownKey = await makeOwnLinkKey({ cipher, entropy: systemEntropy })
  const link = { secondaryId: '', primaryAddr: '', primaryAddrs: [], primaryKey: '', ownKey }
  await commit(
    replaceItem(item, item, { ...item.data, ...begin, set, treeComplete: true, clusterAddr: url, link }),
  )
  return () => closeServer(server)
})

afterEach(() => clock.reset())

const tokenFor = async (id: string, publicKey?: string): Promise<string> => {
  const { body } = await done('POST', '/sys/replication/dr/primary/secondary-token', {
    id,
    ...(publicKey ? { secondary_public_key: publicKey } : {}),
  })
  return publicKey ? body.data.token : body.wrap_info.token
}

/** Makes a cluster that follows the primary with the primary's activation token. */
async function follower({ sealed = false } = {}) {
  const id = fresh('west-')
  const pair = parseLinkKeyPairs(generateLinkKeyPairs(randomBytes))
  const keys = linkPublicKeysOf(pair)
  const given = await tokenFor(id, sealed ? formatLinkPublicKeys(keys) : undefined)
  const token = sealed ? (openActivationToken(pair.exchange, given) ?? '') : given
  const claims = readActivationClaims(token)
  if (!claims) throw new Error('no activation token')
  const me = { id, cluster: randomUUID(), address: `https://${id}.example` }
  const otherKey = Buffer.from(claims.primaryKey, 'base64url')
  const rules = { plainEndpoints: true }
  const source = createSourceLink(
    { set: claims.set, from: id, signing: pair.signing, keys, otherKey },
    {
      carry: createLinkCarrier({ deployment: rules })({ addresses: [claims.addr] }),
      clock,
      entropy: systemEntropy,
      rules,
    },
  )
  const activate = () => source.activate({ token, cluster: me.cluster, address: me.address, version: '1' })
  const heartbeat = (seq = 0) =>
    source.heartbeat({
      position: { epoch, seq },
      state: 'stream-wals',
      address: me.address,
      apiAddress: me.address,
    })
  return { ...me, pair, keys, claims, source, activate, heartbeat }
}

const lineage = () => [[epoch, 1]] as const

async function entriesFrom(
  source: Awaited<ReturnType<typeof follower>>['source'],
  from: number,
): Promise<JournalEntry[]> {
  const got = await source.entries({ lineage: lineage(), after: from, maxBytes: 2 ** 20 })
  if (got.kind !== 'entries') throw new Error(`no journal entries: ${JSON.stringify(got)}`)
  return got.entries
}

describe('a secondary', () => {
  test.each([false, true])(
    'is admitted by its token (sealed: %s), and decrypts the primary’s fields',
    async sealed => {
      const one = await follower({ sealed })
      const got = await one.activate()
      expect(got).toMatchObject({ set, epoch, recovery: { shares: 5, threshold: 3 }, addresses: [url] })
      expect(isStatementSignedBy(Buffer.from(got.primaryKey, 'base64'), got.statement)).toBe(true)
      const [keyring] = await store.read([key('keyring')])
      const kms = {
        unwrap: async ({ wrappedKey }: { wrappedKey: string }) => Buffer.from(wrappedKey, 'base64'),
        newDataKey: async () => {
          const dataKey = randomBytes(32)
          return { dataKey, wrapped: dataKey.toString('base64') }
        },
      }
      const there = createKmsKeyFactory({ keyArn: 'its own', entropy: systemEntropy, kms })
      const imported = await there.importFrom(got.keyring, one.pair.exchange, set, clock.now())
      expect(imported.keyring).toMatchObject({ id: keyring?.data.id, term: keyring?.data.term })
      const theirs = createKmsCipher({
        store: memoryStore([item(key('keyring'), { ...imported.keyring, edition: 1 })]).store,
        clock,
        entropy: systemEntropy,
        kms,
      })
      const [term] = await store.list(itemPartitions('term'))
      if (!term) throw new Error('there is no term')
      await expect(theirs.decrypt(term, 'probe', term.data.probe)).resolves.toBeDefined()
    },
  )

  test('appears in the primary’s status with its heartbeat', async () => {
    const one = await follower()
    const shown = async () => {
      const { body } = await api('GET', '/sys/replication/dr/status', undefined, { token: '' })
      return body.data.secondaries.find((other: { node_id: string }) => other.node_id === one.id)
    }
    expect(await shown()).toEqual({ node_id: one.id, connection_status: 'disconnected' })
    await one.activate()
    await one.heartbeat()
    expect(await shown()).toMatchObject({ connection_status: 'connected', cluster_address: one.address })
  })

  test('gets all new journal entries, and every stored item', async () => {
    const one = await follower()
    await one.activate()
    const { frontier } = await one.heartbeat()
    const name = fresh('p')
    await done('POST', `/sys/policies/acl/${name}`, { policy: 'path "a" { capabilities = ["read"] }' })
    const entries = await entriesFrom(one.source, frontier)
    const place = key('policy', name)
    expect(entries.flatMap(entry => entry.body.map(({ kind, sk }) => ({ kind, sk })))).toContainEqual({
      kind: 'policy',
      sk: name,
    })
    const { items, seq } = await one.source.items({ keys: [place, key('policy', 'nothing')] })
    expect(items).toEqual([expect.objectContaining({ sk: name, leaf: expect.any(String) }), undefined])
    expect(seq).toBeGreaterThan(frontier)
    const found: string[] = []
    for (let segment = 0; segment < 4; segment++) {
      let cursor: { pk: string; sk: string } | undefined
      do {
        const page = await one.source.scan({ segment, segments: 4, cursor })
        found.push(...page.items.map(item => `${item.kind} ${item.sk}`))
        cursor = page.next
      } while (cursor)
    }
    expect(found).toContain(`policy ${name}`)
    expect(found.filter(item => /^(cluster|keyring|secondary|token-key)/.test(item))).toEqual([])
  })

  test('makes an idle primary write the time into its journal', async () => {
    const one = await follower()
    await one.activate()
    clock.stop()
    const { seq } = await one.heartbeat()
    clock.advance(11)
    await one.heartbeat()
    clock.advance(1)
    const { frontier, canaryAt } = await one.heartbeat()
    expect(frontier).toBeGreaterThan(seq)
    expect(canaryAt).toBe(clock.now() - 1000)
    expect((await entriesFrom(one.source, frontier - 1)).at(0)).toMatchObject({ noop: true })
  })

  test('is refused from its next call after a revocation; other secondaries continue, and a new token admits the revoked secondary again', async () => {
    const [one, other] = [await follower(), await follower()]
    await one.activate()
    await other.activate()
    await done('POST', '/sys/replication/dr/primary/revoke-secondary', { id: one.id })
    await expect(one.heartbeat()).rejects.toMatchObject({ code: 'permission_denied' })
    await expect(entriesFrom(one.source, 0)).rejects.toMatchObject({ code: 'permission_denied' })
    expect((await other.heartbeat()).epoch).toBe(epoch)
    const { body } = await api('GET', '/sys/replication/dr/status', undefined, { token: '' })
    expect(body.data.known_secondaries).toContain(other.id)
    expect(body.data.known_secondaries).not.toContain(one.id)
    await tokenFor(one.id)
  })

  test('cannot use its activation token as a client token or a wrapping token', async () => {
    const { claims } = await follower()
    for (const path of ['/sys/wrapping/unwrap', '/sys/wrapping/lookup'])
      expect((await api('POST', path, { token: claims.jti })).status).toBe(400)
    expect((await api('GET', '/auth/token/lookup-self', undefined, { token: claims.jti })).status).toBe(403)
  })
})
