import * as v from 'valibot'
import { beforeEach, describe, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { putItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { drStatus } from '../../../support/set/dr-status.ts'
import { type promotions, readyToPromote } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

let set: ClusterSet
let write: ReturnType<typeof promotions>['write']
let policies: ReturnType<typeof promotions>['policies']
let promote: ReturnType<typeof promotions>['promote']
let health: ReturnType<typeof promotions>['health']
let giveToken: ReturnType<typeof promotions>['giveToken']
let follow: ReturnType<typeof promotions>['follow']

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { aws: true })
  ;({ write, policies, promote, health, giveToken, follow } = await readyToPromote(set))
})

/** Checks that east serves and west follows as before. */
async function nothingHasHappened(): Promise<void> {
  expect([await health('east'), await health('west')]).toEqual([200, 472])
  expect((await write('east', 'still')).status).toBe(204)
  expect((await set.at('west').head()).mode).toBe('applying')
  expect(await set.at('west').record()).not.toHaveProperty('operation')
}

describe('a planned promotion', () => {
  test('loses no commit that is acknowledged while the promotion runs, leaves one primary, and sends an event', async () => {
    const acknowledged: string[] = []
    let over = false
    const writer = async (who: number) => {
      for (let n = 0; !over; n++) {
        const reply = await write('east', `w${who}-${n}`).catch(() => undefined)
        if (reply?.status === 204) acknowledged.push(`w${who}-${n}`)
        await set.clock.sleep(100)
      }
    }
    const writers = [1, 2, 3].map(writer)
    const reply = await promote('west', { primary_cluster_addr: 'west.example.com' })
    over = true
    await Promise.all(writers)
    expect(reply.status).toBe(200)
    expect(reply.body).toMatchObject({ data: null, warnings: [expect.stringMatching(/become the primary/)] })
    expect([await health('east'), await health('west')]).toEqual([472, 200])
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(await policies('west')).toEqual(expect.arrayContaining(['before', ...acknowledged]))
    expect((await write('west', 'after')).status).toBe(204)
    const { kept, right } = await set.everything('west')
    expect(kept).toEqual(right)
    await afterwards(reply.body.warnings)
  })

  /** Checks the role, the events, and the answers to repeated requests. */
  async function afterwards(warnings: string[]): Promise<void> {
    const { ports, events, record, head, audited } = set.at('west')
    const { epoch } = await head()
    expect(await record()).toMatchObject({
      mode: 'primary',
      epoch,
      promotions: 1,
      treeComplete: true,
      clusterAddr: 'https://west.example.com',
      link: { primaryKey: '' },
    })
    expect(await record()).not.toHaveProperty('operation')
    expect(await ports.store.read([key('operation-token'), key('contact')])).toEqual([undefined, undefined])
    expect(audited.map(({ event }) => event)).toEqual(expect.arrayContaining(['claim', 'promotion']))
    await set.tick()
    expect(events).toMatchObject([
      { detail: { from: 'disabled', to: 'secondary' } },
      { type: 'DR role changed', detail: { from: 'secondary', to: 'primary', epoch, lost: 0 } },
    ])
    expect(set.at('east').events).toMatchObject([
      { detail: { from: 'disabled', to: 'primary', position: '' } },
      { detail: { from: 'primary', to: 'secondary', lost: 0 } },
    ])
    const again = { primary_cluster_addr: 'west.example.com' }
    expect(await promote('west', again)).toMatchObject({ status: 200, body: { warnings } })
    expect((await promote('west', { ...again, force: true })).status, 'another request').toBe(400)
    set.pass(600_001)
    const late = await promote('west', again)
    expect(late.status).toBe(400)
    expect(late.text).toContain('not a DR secondary')
  }

  test('after a demotion takes over all commits of the demoted primary', async () => {
    await write('east', 'last')
    await set.at('east').ok('POST', '/sys/replication/dr/primary/demote')
    expect((await promote('west')).status).toBe(200)
    expect(await policies('west')).toContain('last')
  })

  test('requested twice at once runs once, and the two requests get the same answer', async () => {
    const [first, second] = await Promise.all([
      promote('west'),
      set.clock.sleep(5).then(() => promote('west')),
    ])
    expect([first.status, second.status]).toEqual([200, 200])
    expect((await set.at('west').record()).promotions).toBe(1)
    expect(parseInt((await set.at('west').head()).epoch, 10)).toBe(2)
  })

  test('that fails after the handover reports two remedies, and another promotion completes the takeover', async () => {
    // all calls after the handover are lost
    const cut = () => set.cut('east', 'west')
    set.trap({
      cluster: 'east',
      process: 'link',
      step: 'UpdateItem',
      at: 1,
      when: 'before',
      does: 0,
      struck: cut,
    })
    const failed = await promote('west')
    expect(failed.status).toBe(503)
    expect(failed.text).toMatch(
      /handed-over-not-claimed.*repeat the promotion of this cluster.*promote the old primary again/,
    )
    expect((await set.at('west').head()).mode).toBe('applying')
    set.heal('east', 'west')
    expect((await promote('west')).status).toBe(200)
    expect([await health('east'), await health('west')]).toEqual([472, 200])
  })
})

describe('a promotion that is refused changes nothing on either cluster', () => {
  test('by a primary that has just become silent, by an invalid address, or by a missing token', async () => {
    set.cut('east', 'west')
    const reply = await promote('west')
    expect(reply.status).toBe(503)
    expect(reply.headers['retry-after']).toBe('15')
    expect(reply.text).toMatch(
      /does not answer; it last answered \d+ s ago; .*; repeat the request later, or use force/,
    )
    set.heal('east', 'west')
    expect((await promote('west', { primary_cluster_addr: 'ftp://a' })).status).toBe(400)
    expect((await promote('west', { dr_operation_token: 'another' })).status).toBe(403)
    await nothingHasHappened()
  })

  test('by a corrupted tree, or a running reindex', async () => {
    const { ports, record } = set.at('west')
    const { treeId = '' } = await record()
    const as = { record: await record(), readAt: ports.clock.now() }
    const of = { treeId, operation: 'o', startedAt: 1 }
    await ports.store.commit(
      [
        putItem(key('tree-check'), { ...of, checkedAt: 2, corrupted: true }),
        putItem(key('tree-reindex'), { ...of, stage: 'building', done: 1, total: 2 }),
      ],
      as,
    )
    const reply = await promote('west')
    expect(reply.status).toBe(503)
    expect(reply.text).toMatch(/corrupted: .*; a reindex is running; repeat the request later, or use force/)
    await nothingHasHappened()
  })

  test('by a revocation; with force the secondary becomes a primary of its own, and the old primary continues to serve', async () => {
    await set.at('east').ok('POST', '/sys/replication/dr/primary/revoke-secondary', { id: 'west' })
    const reply = await promote('west')
    expect(reply.status).toBe(503)
    expect(reply.text).toMatch(/refuses this cluster: .*revoked/)
    await nothingHasHappened()
    expect((await promote('west', { force: true })).status).toBe(200)
    await set.tick()
    expect([await health('east'), await health('west')]).toEqual([200, 200])
  })
})

describe('a promotion without the primary', () => {
  test('that was silent for a minute succeeds, and warns of commits that may be missing', async () => {
    set.cut('east', 'west')
    await write('east', 'lost')
    await set.passAsking(61_000)
    const reply = await promote('west')
    expect(reply.status).toBe(200)
    expect(reply.body.warnings[1]).toMatch(/does not answer.*takes over at position 000001\./)
    expect(await policies('west')).not.toContain('lost')
    expect(await policies('west')).toContain('before')
    expect((await write('west', 'after')).status).toBe(204)
  })

  test('that reported positions which never arrived: status and the warning count these positions', async () => {
    const { last } = await set.at('west').head()
    const heardAt = Math.floor(set.clock.now() / 1000) * 1000
    await write('east', 'lost')
    await write('east', 'lost-too')
    // the heartbeat succeeds, but no journal entry arrives any more
    set.trap({ cluster: 'west', process: 'on-pull', step: 'Entries', at: 1, when: 'before', does: 'dies' })
    await set
      .at('west')
      .pull()
      .catch(() => undefined)
    set.cut('east', 'west')
    await set.passAsking(90_000)
    const status = (await set.at('west').ok('GET', '/sys/replication/dr/status')).body.data
    const [peer] = v.parse(drStatus, status).mode === 'secondary' ? status.primaries : []
    expect([status.last_remote_wal, peer.last_position]).toEqual([last, last + 2])
    expect(peer.connection_status).toBe('disconnected')
    expect(Date.parse(peer.last_position_time)).toBeGreaterThanOrEqual(heardAt)
    const reply = await promote('west')
    expect(reply.body.warnings[1]).toContain(`at least 2 positions up to ${last + 2}`)
  })

  test('of a demoted cluster: with force that cluster continues where its own epoch ended', async () => {
    await set.at('east').ok('POST', '/sys/replication/dr/primary/demote')
    const { last } = await set.at('east').head()
    await giveToken('east')
    const refused = await promote('east')
    expect([refused.status, refused.headers['retry-after']]).toEqual([400, undefined])
    expect(refused.text).toMatch(/knows no primary.*update-primary gives this cluster a primary; .*use force/)
    expect((await promote('east', { force: true })).status).toBe(200)
    expect((await write('east', 'after')).status).toBe(204)
    expect(await policies('east')).toEqual(expect.arrayContaining(['before', 'after']))
    const { lineage, epoch } = await set.at('east').head()
    expect(lineage.map(([, start]) => start)).toEqual([1, last + 1])
    expect(epoch).toMatch(/^000002\./)
  })

  test('with force during a sync: the new primary serves, no journal leads to its state, and a report lists items missing there', async () => {
    set.cut('east', 'west')
    expect((await write('east', 'of-east-alone')).status).toBe(204)
    const { journal } = set.at('west').ports
    const before = await set.at('west').head()
    await journal.moveHead(headMoves.beginSync(before, 'all'))
    expect((await promote('west')).text).toMatch(/merkle-sync/)
    const reply = await promote('west', { force: true })
    expect(reply.status).toBe(200)
    expect(reply.body.warnings[1]).toMatch(/overridden by force.*merkle-sync/)
    expect((await write('west', 'after')).status).toBe(204)
    const head = await set.at('west').head()
    expect(head.lineage).toEqual([[head.epoch, before.last + 1]])

    set.heal('east', 'west')
    set.pass(60_000)
    await set.tick()
    await set.tick()
    expect([await health('east'), await health('west')]).toEqual([472, 200])
    await follow('east', 'west', 'east')
    await set.converge()
    expect(await set.everything('east')).toEqual(await set.everything('west'))
    expect(await policies('west')).not.toContain('of-east-alone')
    const { data } = (await set.at('east').ok('GET', '/sys/replication/dr/divergence')).body
    const lost = data.lost as { changes: { kind: string; key: [string, string] }[] }[]
    expect(lost.flatMap(({ changes }) => changes.map(({ key: [, name] }) => name))).toEqual(['of-east-alone'])
  })
})
