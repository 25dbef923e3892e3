import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { beforeEach, describe, expect, test } from 'vitest'
import { createNoopEntry, type JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { formatEpoch } from '../../../../shared/journal/position.ts'
import { readActivationClaims } from '../../../../shared/link/activation-token.ts'
import { readUnverifiedLinkOutcome, signLinkCall } from '../../../../shared/link/envelope.ts'
import { linkMethods } from '../../../../shared/link/methods.ts'
import { LINK_FORMAT, LinkRefused } from '../../../../shared/link/source.ts'
import { isStatementSignedBy } from '../../../../shared/link/statements.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { CallSchema } from '../../../../shared/wire/gen/link_pb.ts'
import { pair } from '../../../builders/link.ts'
import { ADDRESS, follower, guessed, primaryWorld, START, type World } from './world.ts'

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

async function admitted(name = 'west') {
  const one = follower(w, name)
  await one.activate(await w.token(name))
  w.clock.ms += 1000
  return one
}
const noops = (count: number, at = START) => {
  for (let seq = 1; seq <= count; seq++)
    w.memory.entries.set(seq, createNoopEntry({ epoch: w.epoch, seq }, at))
  w.memory.set({ last: count })
}

describe('activating a secondary', () => {
  test('an activation returns set, lineage, keyring, shares, addresses and a statement, and stores the secondary', async () => {
    const one = follower(w, 'west')
    const got = await one.activate(await w.token('west'))
    expect(got).toMatchObject({
      set: w.set,
      primary: w.record.id,
      epoch: w.epoch,
      lineage: [[w.epoch, 1]],
      recovery: { shares: 5, threshold: 3 },
      primaryKey: w.keys.signing.toString('base64'),
      addresses: [ADDRESS],
      memberAddresses: [],
    })
    expect(one.opened(got.keyring)).toBe('the keys')
    expect(got.statement).toMatchObject({
      set: w.set,
      issuer: w.record.id,
      subject: one.cluster,
      epoch: w.epoch,
      key: one.keys.signing.toString('base64'),
    })
    expect(isStatementSignedBy(w.keys.signing, got.statement)).toBe(true)
    expect(await w.secondary('west')).toMatchObject({
      cluster: one.cluster,
      activatedAt: START,
      address: 'https://west.example',
      version: '1',
    })
  })

  test('an activation is written to the audit log with cluster and token name, without secrets', async () => {
    const one = follower(w, 'west')
    const token = await w.token('west')
    await expect(follower(w, 'west').activate(guessed(token))).rejects.toThrow()
    expect(w.audited).toEqual([expect.objectContaining({ audit: 'refusals' })])
    w.audited.length = 0
    const { keyring } = await one.activate(token)
    expect(w.audited).toEqual([
      expect.objectContaining({
        audit: 'replication',
        event: 'admission',
        cluster: w.record.id,
        set: w.set,
        epoch: w.epoch,
        id: 'west',
        secondary: one.cluster,
        address: 'https://west.example',
      }),
    ])
    for (const secret of [token, readActivationClaims(token)?.jti ?? '', keyring])
      expect(JSON.stringify([w.audited, w.log])).not.toContain(secret)
  })

  test('an activation returns the addresses of other known clusters', async () => {
    await admitted('west')
    const got = await follower(w, 'north').activate(await w.token('north'))
    expect(got.memberAddresses).toEqual(['https://west.example'])
  })

  test('an activation is refused until the tree is built', async () => {
    const token = await w.token('west')
    await w.write(key('cluster'), { ...w.record, treeComplete: false })
    const building = (done: number) =>
      w.write(key('reindex'), { treeId: 'a life', stage: 'building', done, total: 300, late: 0 })
    await expect(follower(w, 'west').activate(token)).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'the journal is 0 % built; repeat the request with the same token when the journal is complete',
    })
    for (const [done, percent] of [
      [100, 33],
      [299, 99],
      [400, 99],
    ] as const) {
      await building(done)
      await expect(follower(w, 'west').activate(token)).rejects.toThrow(`the journal is ${percent} % built`)
    }
    expect((await w.secondary('west'))?.activatedAt).toBeUndefined()
  })

  test('the same cluster may repeat its activation until its first heartbeat, because the answer may be lost', async () => {
    const one = follower(w, 'west')
    const token = await w.token('west')
    await one.activate(token)
    w.clock.ms += 1000
    expect((await one.activate(token)).set).toBe(w.set)
    await one.heartbeat()
    await expect(one.activate(token)).rejects.toThrow('the token has been used')
  })

  test('a cluster that activates itself is refused', async () => {
    const { source, request } = follower(w, 'west')
    const token = await w.token('west')
    await expect(source.activate({ ...request, cluster: w.record.id, token })).rejects.toThrow(
      'its own secondary',
    )
  })

  test('an activation with one token, sent twice at once, admits once', async () => {
    const token = await w.token('west')
    const results = await Promise.allSettled([
      follower(w, 'west').activate(token),
      follower(w, 'west').activate(token),
    ])
    expect(results.map(one => one.status).sort()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('a heartbeat of a secondary', () => {
  test('a heartbeat is stored for status, and returns the primary’s position', async () => {
    noops(7)
    w.memory.entries.delete(6)
    const one = await admitted()
    const got = await one.heartbeat(3)
    expect(got).toMatchObject({
      time: START + 1000,
      skewMs: 0,
      seq: 7,
      frontier: 5,
      epoch: w.epoch,
      canaryAt: START,
      addresses: [ADDRESS],
    })
    expect((await w.secondary('west'))?.heartbeat).toEqual({
      at: START + 1000,
      roundTripMs: 0,
      skewMs: 0,
      epoch: w.epoch,
      seq: 3,
      state: 'stream-wals',
      format: LINK_FORMAT,
      canaryAt: START,
    })
  })

  test('a heartbeat stores the age of the newest entry that the secondary has', async () => {
    const one = await admitted()
    const canaryAt = async (seq: number) => {
      await one.heartbeat(seq)
      return (await w.secondary('west'))?.heartbeat?.canaryAt
    }
    expect(await canaryAt(0)).toBeUndefined()
    noops(2)
    for (const seq of [1, 2])
      w.memory.entries.set(seq, createNoopEntry({ epoch: w.epoch, seq }, w.clock.ms + 100 * seq))
    expect([await canaryAt(1), await canaryAt(2)]).toEqual([w.clock.ms + 100, w.clock.ms + 200])
    expect(await canaryAt(9)).toBe(w.clock.ms + 200)
  })

  test('a heartbeat to a quiet journal writes an empty entry with the time', async () => {
    noops(1)
    const one = await admitted()
    await one.heartbeat(1)
    expect(w.memory.head().last).toBe(1)
    w.clock.ms += 10_000
    await one.heartbeat(1)
    expect(w.memory.entries.get(2)).toEqual(createNoopEntry({ epoch: w.epoch, seq: 2 }, w.clock.ms))
    w.clock.ms += 5000
    expect(await one.heartbeat(2)).toMatchObject({ frontier: 2, canaryAt: w.clock.ms - 5000 })
    expect(w.memory.head().last).toBe(2)
  })

  test('a heartbeat with a clock more than five minutes off is refused with the difference, and changes nothing', async () => {
    const one = follower(w, 'west', { ahead: 301_000 })
    const token = await w.token('west')
    await expect(one.activate(token)).rejects.toThrow("the caller's clock is 301 s ahead of this cluster's")
    expect((await w.secondary('west'))?.activatedAt).toBeUndefined()
    const near = follower(w, 'west', { ahead: -299_000 })
    await near.activate(token)
    expect((await near.heartbeat()).skewMs).toBe(299_000)
  })
})

describe('callers of the link that are not admitted', () => {
  const refusal = (code: string, text: string) => ({ code, message: expect.stringContaining(text) })

  test('the refusal is the same under a known name, an unknown name, and a name with an unused token', async () => {
    await admitted()
    await w.token('unused')
    for (const name of ['west', 'nobody', 'unused'])
      await expect(follower(w, name).heartbeat()).rejects.toMatchObject(
        refusal('unauthenticated', 'not signed by the key of a secondary'),
      )
  })

  test('a cluster of another set is refused', async () => {
    const one = await admitted()
    const foreign = one.sourceAs('another set', w.keys.signing)
    await expect(foreign.keyring({ term: 1 })).rejects.toMatchObject(
      refusal('failed_precondition', 'another DR set'),
    )
  })

  test('a revoked secondary is refused at once as revoked, and other secondaries are served', async () => {
    const [one, other] = [await admitted('west'), await admitted('north')]
    await w.revoke('west')
    for (const call of [() => one.heartbeat(), () => one.source.keyring({ term: 1 })])
      await expect(call()).rejects.toMatchObject(refusal('permission_denied', 'west was revoked'))
    expect((await other.heartbeat()).epoch).toBe(w.epoch)
  })

  test('a cluster revoked under one name is refused under all its names', async () => {
    const one = follower(w, 'west')
    await one.activate(await w.token('west'))
    const again = follower(w, 'west-again')
    await again.source.activate({
      ...again.request,
      cluster: one.cluster,
      token: await w.token('west-again'),
      earlier: one.pair.signing,
    })
    w.clock.ms += 1000
    await w.revoke('west')
    await expect(again.heartbeat()).rejects.toMatchObject(
      refusal('permission_denied', 'west-again was revoked'),
    )
  })

  test('a new token for the same name admits the cluster again, and the old keys stay refused', async () => {
    const one = await admitted()
    await w.revoke('west')
    w.clock.ms += 1000
    const token = await w.token('west')
    await expect(one.heartbeat()).rejects.toThrow(LinkRefused)
    const next = follower(w, 'west')
    await next.source.activate({ ...next.request, cluster: one.cluster, token })
    w.clock.ms += 1000
    expect((await next.heartbeat()).epoch).toBe(w.epoch)
    await expect(one.heartbeat()).rejects.toThrow(LinkRefused)
  })

  test('every refusal contains the refusing cluster’s address', async () => {
    await expect(follower(w, 'nobody').heartbeat()).rejects.toMatchObject({ addresses: [ADDRESS] })
  })
})

describe('answers of the link by the cluster’s role', () => {
  test('a cluster that does not write refuses because the cluster is not a primary', async () => {
    const one = await admitted()
    w.memory.set({ mode: 'applying' })
    await expect(one.heartbeat()).rejects.toMatchObject({
      code: 'failed_precondition',
      message: /no primary/,
    })
    w.memory.set({ mode: 'writing', ownEpoch: formatEpoch(9, 'f'.repeat(12)) })
    await expect(one.heartbeat()).rejects.toMatchObject({
      code: 'failed_precondition',
      message: /no primary/,
    })
  })

  test('a closed cluster serves its journal and admits no cluster', async () => {
    const one = await admitted()
    const token = await w.token('north')
    noops(3)
    w.memory.set({ mode: 'closed' })
    expect(await one.source.entries({ lineage: [[w.epoch, 1]], after: 0, maxBytes: 1000 })).toMatchObject({
      frontier: 3,
    })
    await expect(follower(w, 'north').activate(token)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('a cluster whose caller has seen a later epoch refuses and names that epoch', async () => {
    const one = await admitted()
    const epoch = formatEpoch(2, 'f'.repeat(12))
    const body = linkMethods.Keyring.forms.question.write({ term: 1 })
    const caller = { set: w.set, from: 'west', lineage: [[epoch, 9]] as const }
    const call = signLinkCall('Keyring', caller, body, {
      signing: one.pair.signing,
      nonce: randomBytes(16),
      time: w.clock.ms,
    })
    expect(readUnverifiedLinkOutcome(await w.serve('Keyring', call, ''))).toMatchObject({
      refusal: {
        code: 'failed_precondition',
        text: expect.stringContaining('another cluster became primary after this cluster'),
      },
    })
  })

  test('a cluster that is in no set or not initialised refuses every call without a signature', async () => {
    const one = await admitted()
    const { set: _, link: __, ...alone } = w.record
    await w.write(key('cluster'), { ...alone, mode: 'disabled' })
    await expect(one.heartbeat()).rejects.toThrow('the answer said: this cluster is in no DR set')
    w.stored.clear()
    await expect(one.heartbeat()).rejects.toThrow('the answer said: this cluster is not initialised')
  })

  test('bytes that are not a call are refused', async () => {
    const answer = await w.serve('Heartbeat', create(CallSchema), '')
    expect(readUnverifiedLinkOutcome(answer)).toMatchObject({ refusal: { code: 'invalid_argument' } })
    expect(w.log).toEqual([
      ['link', expect.objectContaining({ code: 'invalid_argument' }), { LinkRefusals: 1 }],
    ])
  })

  test('internal errors are logged, and their text is not sent', async () => {
    const one = await admitted()
    w.memory.journal.readRaw = async () => {
      throw new Error('secret details')
    }
    const asked = one.source.items({ keys: [key('policy', 'a')] })
    await expect(asked).rejects.toMatchObject({
      code: 'unavailable',
      message: /see the logs of the cluster that received the call/,
    })
    expect(JSON.stringify(w.log)).toContain('secret details')
  })
})

describe('reads of a secondary from its primary', () => {
  const body = (text: string): JournalEntry['body'] => [
    {
      kind: 'policy',
      pk: 'policy',
      sk: 'a',
      prev: null,
      next: { leaf: 'A'.repeat(43), gen: null },
      item: null,
      text,
    } as JournalEntry['body'][number],
  ]

  test('the secondary gets journal entries after its position, in order, up to the first missing entry', async () => {
    noops(250)
    w.memory.entries.delete(240)
    const one = await admitted()
    const got = await one.source.entries({ lineage: [[w.epoch, 1]], after: 7, maxBytes: 1_000_000 })
    if (got.kind !== 'entries') throw new Error('no journal entries')
    expect(got.entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 232 }, (_, index) => index + 8))
    expect(got).toMatchObject({ frontier: 239, lineage: [[w.epoch, 1]] })
  })

  test('the secondary gets journal entries up to a number of bytes, but at least one entry', async () => {
    noops(5)
    for (let seq = 1; seq <= 5; seq++)
      w.memory.entries.set(seq, {
        epoch: w.epoch,
        seq,
        id: `c${seq}`,
        at: START,
        body: body('x'.repeat(100)),
      })
    const one = await admitted()
    const ask = async (bytes: number) => {
      const got = await one.source.entries({ lineage: [[w.epoch, 1]], after: 0, maxBytes: bytes })
      return got.kind === 'entries' ? got.entries.length : 0
    }
    expect([await ask(1), await ask(600), await ask(100_000)]).toEqual([1, expect.any(Number), 5])
    expect(await ask(600)).toBeLessThan(5)
  })

  test('a secondary whose journal has diverged gets the fork point', async () => {
    noops(9)
    const other = formatEpoch(2, 'f'.repeat(12))
    const one = await admitted()
    const ask = (lineage: readonly (readonly [string, number])[], from: number) =>
      one.source.entries({ lineage, after: from, maxBytes: 1000 })
    expect(
      await ask(
        [
          [w.epoch, 1],
          [other, 6],
        ],
        8,
      ),
    ).toEqual({ kind: 'diverged', forkPoint: 5 })
    expect(await ask([[w.epoch, 1]], 12)).toMatchObject({ frontier: 12, entries: [] })
    expect(await ask([[other, 1]], 3)).toEqual({ kind: 'diverged', forkPoint: -1 })
  })

  test('a secondary gets the first retained position if the next entries are trimmed', async () => {
    noops(9)
    w.memory.set({ retainedFrom: 4 })
    const one = await admitted()
    expect(await one.source.entries({ lineage: [[w.epoch, 1]], after: 3, maxBytes: 1 })).toEqual({
      kind: 'trimmed',
      retainedFrom: 4,
    })
    expect(await one.source.entries({ lineage: [[w.epoch, 1]], after: 4, maxBytes: 1000 })).toMatchObject({
      frontier: 9,
    })
  })

  test('the secondary reads items by key, and pages of segments', async () => {
    const one = await admitted()
    const { items, epoch } = await one.source.items({ keys: [key('policy', 'a'), key('role', 'm', 'b')] })
    expect(items.map(item => item?.data)).toEqual([{ of: 'a' }, { of: 'b' }])
    expect(epoch).toBe(w.epoch)
    const first = await one.source.scan({ segment: 2, segments: 16 })
    expect(first.next).toEqual({ pk: 'policy', sk: 'a' })
    expect((await one.source.scan({ segment: 2, segments: 16, cursor: first.next })).next).toBeUndefined()
  })

  test('the secondary gets no items of the primary’s cluster table', async () => {
    const one = await admitted()
    for (const own of [key('cluster'), key('keyring'), key('token-key'), key('ceremony')])
      await expect(one.source.items({ keys: [own] })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('the secondary gets no pages after the lineage has changed', async () => {
    const one = await admitted()
    w.memory.set({
      lineage: [
        [w.epoch, 1],
        [formatEpoch(2, w.record.id), 5],
      ],
      epoch: formatEpoch(2, w.record.id),
      ownEpoch: formatEpoch(2, w.record.id),
    })
    for (const call of [
      () => one.source.scan({ segment: 0, segments: 1 }),
      () => one.source.items({ keys: [] }),
      () => one.source.tree({ level: 'root' }),
    ])
      await expect(call()).rejects.toThrow('the lineage of the journal has changed')
    await one.heartbeat()
    expect((await one.source.scan({ segment: 0, segments: 1 })).items).toHaveLength(1)
  })

  test('the secondary reads hashes of pages and sums of buckets', async () => {
    const one = await admitted()
    const root = await one.source.tree({ level: 'root' })
    expect(root.hashes).toHaveLength(512)
    expect([root.hashes[0], root.hashes[256], root.hashes[1]]).toEqual([
      'hash in t#a life#r#root',
      'hash in t#a life#l#root',
      '',
    ])
    const page = await one.source.tree({ level: 'page', page: 'r#0a' })
    expect(page.hashes).toHaveLength(256)
    expect([page.hashes[10], page.hashes[11]]).toEqual(['1 2 3', ''])
    await expect(one.source.tree({ level: 'page', page: 'x#0a' })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })

  test('the secondary gets the keyring once the keyring has the requested term', async () => {
    const one = await admitted()
    const { keyring, term } = await one.source.keyring({ term: 1 })
    expect([one.opened(keyring), term]).toEqual(['the keys', 1])
    await expect(one.source.keyring({ term: 2 })).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('a notice over the link', () => {
  const notice = (signing = w.pair.signing, time = w.clock.ms) =>
    signLinkCall(
      'Notify',
      { set: w.set, from: 'the primary', lineage: [] },
      linkMethods.Notify.forms.question.write({}),
      { signing, time, nonce: randomBytes(16) },
    )
  const following = () =>
    w.write(key('cluster'), {
      ...w.record,
      mode: 'secondary',
      link: { ...w.record.link, primaryKey: w.keys.signing.toString('base64') },
    })

  const noticed = async () => (await w.store.read([key('notice')]))[0]?.data

  test('a notice by the primary wakes the secondary, and a notice by or to any other cluster has no effect', async () => {
    expect(readUnverifiedLinkOutcome(await w.serve('Notify', notice(), ''))).toMatchObject({
      refusal: { text: /follows no primary/ },
    })
    await following()
    expect(readUnverifiedLinkOutcome(await w.serve('Notify', notice(pair().signing), ''))).toMatchObject({
      refusal: { code: 'unauthenticated' },
    })
    expect(
      readUnverifiedLinkOutcome(await w.serve('Notify', notice(undefined, START - 301_000), '')),
    ).toMatchObject({
      refusal: { text: expect.stringContaining('301 s behind') },
    })
    expect(w.woken).toEqual([])
    expect(await noticed()).toBeUndefined()
    expect(readUnverifiedLinkOutcome(await w.serve('Notify', notice(), ''))).toHaveProperty('body')
    expect(w.woken).toEqual(['woken'])
  })

  test('a notice is stored for a resting run, and starts no second run meanwhile', async () => {
    await following()
    const lease = { runId: 'a run', state: 'stream-wals' as const }
    await w.write(key('puller'), { ...lease, until: w.clock.ms + 1 })
    await w.serve('Notify', notice(), '')
    expect(await noticed()).toEqual({ at: w.clock.ms })
    expect(w.woken).toEqual([])
    await w.write(key('puller'), { ...lease, until: w.clock.ms })
    await w.serve('Notify', notice(), '')
    expect(w.woken).toEqual(['woken'])
  })
})
