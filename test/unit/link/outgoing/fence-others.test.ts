import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { formatEpoch } from '../../../../shared/journal/position.ts'
import type { FencingPorts } from '../../../../shared/link/outgoing/fence-call.ts'
import { fenceBeforeServing, fenceOtherClusters } from '../../../../shared/link/outgoing/fence-others.ts'
import { isFenceDue } from '../../../../shared/link/outgoing/fence-outcomes.ts'
import { formatLinkPublicKeys } from '../../../../shared/link/pair.ts'
import { claimantRevokedError } from '../../../../shared/link/refusals.ts'
import { isStatementSignedBy, signMemberStatement } from '../../../../shared/link/statements.ts'
import type { SetMembership } from '../../../../shared/model/link.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { CreateLinkCarrier } from '../../../../shared/wire/carry.ts'
import { follower, primaryWorld, START, type World } from '../serve/world.ts'

const EAST = 'https://east.example'
const WEST = 'https://west.example'

/** `east` still writes. `west` has claimed a later epoch, signed with the key that east has admitted. */
let east: World
let west: World
let epoch: string
let asked: string[]
let patiences: number[]
let down: boolean
/** epoch milliseconds from which clusters answer */
let reachedAt: number

beforeEach(async () => {
  east = await primaryWorld({ clusterAddr: EAST })
  west = await primaryWorld({ clusterAddr: WEST, set: east.set })
  epoch = formatEpoch(2, west.record.id)
  asked = []
  patiences = []
  reachedAt = Number.POSITIVE_INFINITY
  down = false
  await west.write(key('cluster'), { ...west.record, epoch })
  west.memory.set({
    epoch,
    ownEpoch: epoch,
    maxEpoch: 2,
    lineage: [
      [east.epoch, 1],
      [epoch, 1],
    ],
  })
  const admitted = { cluster: west.record.id, publicKey: formatLinkPublicKeys(west.keys), activatedAt: START }
  await east.token('west')
  await east.write(key('secondary', 'west'), {
    ...(await east.secondary('west')),
    ...admitted,
    address: WEST,
  })
  await meets({ addresses: [EAST], key: east.keys.signing.toString('base64') })
})

const meets = (of: Partial<SetMembership>) =>
  west.write(key('member', east.record.id), { statements: [], addresses: [], ...of })

/**
 * Returns the ports of a fencing cluster, and records the addresses that it calls. Time passes while the
 * cluster sleeps.
 */
async function asking(
  work: (ports: FencingPorts, to: CreateLinkCarrier) => Promise<void>,
): Promise<string[]> {
  const before = asked.length
  pass(1000)
  const clock = { now: () => west.clock.ms, sleep: async (ms: number) => pass(ms) }
  const ports = { ...west.ports, clock, entropy: { bytes: randomBytes, uuid: randomUUID } }
  await work(ports, ({ addresses: [address = ''] }) => async (method, call, patience) => {
    asked.push(address)
    patiences.push(patience)
    if ((down && west.clock.ms < reachedAt) || address !== EAST) throw new Error('nobody is there')
    return east.serve(method, call, '')
  })
  return asked.slice(before)
}

const pass = (ms: number): void => {
  east.clock.ms = west.clock.ms = Math.max(east.clock.ms, west.clock.ms) + ms
}

/** Runs the worker that fences other clusters for `lasting` milliseconds. */
const fencing = (lasting = 0) => asking((ports, to) => fenceOtherClusters(ports, to, west.clock.ms + lasting))

const promotedAt = (at: number) =>
  west.write(key('promoted'), { operation: 'o', request: 'r', warnings: [], at })

const outcomes = async () => (await west.store.read([key('fences')]))[0]?.data
const self = async () => (await west.store.read([key('member', west.record.id)]))[0]?.data

describe('fenceOtherClusters', () => {
  test('fencing calls all known addresses until the clusters acknowledge, and stores their statements', async () => {
    down = true
    expect(await fencing()).toEqual([EAST])
    expect(await outcomes()).toMatchObject({
      epoch,
      outcomes: { [EAST]: { result: 'silent', text: 'nobody is there' } },
    })
    down = false
    expect(await fencing()).toEqual([EAST])
    const text = `${east.record.id} has ended ${east.epoch} at 0`
    expect(await outcomes()).toMatchObject({ outcomes: { [EAST]: { result: 'acknowledged', text } } })
    expect(east.memory.head()).toMatchObject({ mode: 'closed', successor: west.record.id })
    const [voucher] = (await self())?.statements ?? []
    expect(voucher).toMatchObject({ issuer: east.record.id, subject: west.record.id, epoch })
    expect(voucher && isStatementSignedBy(east.keys.signing, voucher)).toBe(true)
    expect(await fencing(), 'and nothing is asked any more').toEqual([])
  })

  test('fencing does not call a refusing cluster again until this cluster has more statements', async () => {
    await east.revoke('west')
    expect(await fencing()).toEqual([EAST])
    expect(await outcomes()).toMatchObject({
      outcomes: {
        [EAST]: { result: 'denied', text: claimantRevokedError(west.record.id).message, statements: 0 },
      },
    })
    expect(await fencing()).toEqual([])
    const more = { set: west.set, issuer: west.record.id, subject: west.record.id, key: 'k', epoch }
    const known = await self()
    await west.write(key('member', west.record.id), {
      ...known,
      statements: [signMemberStatement(west.pair.signing, more)],
    })
    expect(await fencing()).toEqual([EAST])
  })

  test('fencing calls the clusters again in every later epoch', async () => {
    await fencing()
    const next = formatEpoch(3, west.record.id)
    await west.write(key('cluster'), { ...west.record, epoch: next })
    west.memory.set({ epoch: next, ownEpoch: next, lineage: [[next, 1]] })
    expect(await fencing()).toEqual([EAST])
    expect(await outcomes()).toMatchObject({ epoch: next })
  })

  test('fencing rejects an answer signed by an unknown key', async () => {
    await meets({ addresses: [EAST] })
    await fencing()
    expect(await outcomes()).toMatchObject({
      outcomes: { [EAST]: { result: 'silent', text: 'the answer is signed by an unknown key' } },
    })
    expect((await self())?.statements ?? []).toEqual([])
  })

  test('fencing stores addresses from every answer, including refusals, and calls those addresses', async () => {
    await follower(east, 'north').activate(await east.token('north'))
    await east.revoke('west')
    expect(await fencing(100), 'at once').toEqual([EAST, 'https://north.example'])
    expect((await self())?.addresses).toEqual([EAST, 'https://north.example', WEST])
    expect(await fencing()).toEqual(['https://north.example'])
  })

  test('the primary calls neither itself nor its secondaries, unless a secondary was silent for a minute', async () => {
    const contact = { at: START, roundTripMs: 0, skewMs: 0, epoch, seq: 0, state: 'stream-wals' }
    await meets({ addresses: [WEST, 'https://north.example'] })
    await west.write(key('secondary', 'north'), {
      ...(await east.secondary('west')),
      id: 'north',
      epoch,
      address: 'https://north.example',
      heartbeat: contact,
    })
    expect(await fencing()).toEqual([])
    pass(60_000)
    expect(await fencing()).toEqual(['https://north.example'])
    expect(await outcomes()).toMatchObject({ outcomes: { 'https://north.example': { result: 'silent' } } })
    // a stored outcome is stale once the secondary sends heartbeats again
    const again = { ...contact, at: west.clock.ms }
    await west.write(key('secondary', 'north'), {
      ...(await west.secondary('north')),
      heartbeat: again,
    })
    expect(await fencing()).toEqual([])
    expect((await outcomes())?.outcomes).toEqual({})
  })
})

describe('calls of fenceOtherClusters after a promotion', () => {
  test('other clusters are called every two seconds for ten minutes with growing timeouts, then once per run', async () => {
    down = true
    await promotedAt(west.clock.ms)
    expect((await fencing(60_000)).length).toBe(30)
    expect(patiences.slice(0, 4)).toEqual([2000, 4000, 8000, 10_000])
    expect(new Set(patiences.slice(4))).toEqual(new Set([10_000]))
    pass(8 * 60_000)
    const before = patiences.length
    // the ten minutes end during this run of the worker
    expect((await fencing(120_000)).length).toBe(30)
    expect(new Set(patiences.slice(before)), 'a later run begins where the one before ended').toEqual(
      new Set([10_000]),
    )
    expect(await fencing(60_000)).toEqual([EAST])
  })

  test('an answer does not delay the next call to another cluster', async () => {
    await promotedAt(west.clock.ms)
    await meets({ addresses: [EAST], key: west.keys.signing.toString('base64') })
    await fencing(20_000)
    expect(await outcomes()).toMatchObject({ outcomes: { [EAST]: { result: 'silent' } } })
    expect(new Set(patiences)).toEqual(new Set([2000]))
  })

  test('an address gets one call at a time, and a hanging cluster delays no other cluster', async () => {
    const NORTH = 'https://north.example'
    await meets({ addresses: [EAST, NORTH] })
    await promotedAt(west.clock.ms)
    let [underWay, most, calls] = [0, 0, 0]
    let wakeNorth: () => void = () => undefined
    const hanging = new Promise<void>(wake => {
      wakeNorth = wake
    })
    await asking((ports, to) =>
      fenceOtherClusters(
        ports,
        where => async (method, call, patience) => {
          if (where.addresses[0] === EAST) {
            if (++calls === 3) wakeNorth()
            throw new Error('nobody is there')
          }
          most = Math.max(most, ++underWay)
          await hanging
          underWay--
          return to(where)(method, call, patience)
        },
        west.clock.ms + 60_000,
      ),
    )
    expect(calls).toBeGreaterThan(3)
    expect(most).toBe(1)
  })

  test('an acknowledging cluster is not called again, and the run ends', async () => {
    down = true
    await promotedAt(west.clock.ms)
    const began = west.clock.ms
    reachedAt = began + 20_000
    expect((await fencing(60_000)).length).toBe(11)
    expect(west.clock.ms - began).toBeLessThan(25_000)
    expect(await outcomes()).toMatchObject({ outcomes: { [EAST]: { result: 'acknowledged' } } })
  })
})

describe('fenceBeforeServing', () => {
  /** west still writes its epoch; east has claimed a later one */
  beforeEach(async () => {
    const later = formatEpoch(3, east.record.id)
    await east.write(key('cluster'), { ...east.record, epoch: later })
    east.memory.set({ epoch: later, ownEpoch: later, maxEpoch: 3 })
  })

  test("fencing calls every address despite earlier outcomes, and waits until the cluster's own epoch is ended", async () => {
    const fences = {
      epoch,
      outcomes: { [EAST]: { result: 'acknowledged' as const, text: '', statements: 0, at: 1 } },
    }
    await west.write(key('fences'), fences)
    const began = west.clock.ms
    const { journal } = west.ports
    let looks = 0
    const head = async () => {
      looks += 1
      if (looks === 3) west.memory.set({ mode: 'closed' })
      return journal.head()
    }
    await asking((ports, to) => fenceBeforeServing({ ...ports, journal: { ...journal, head } }, to))
    expect([asked, west.memory.head().mode]).toEqual([[EAST], 'closed'])
    expect(west.clock.ms - began).toBeLessThan(2000 + 1000)
  })

  test('fencing returns after two seconds if no cluster fences, and at once if no cluster answers', async () => {
    const began = west.clock.ms + 1000
    await asking(fenceBeforeServing)
    expect(west.clock.ms - began).toBe(2000)
    expect(patiences).toEqual([2000])
    down = true
    const next = west.clock.ms + 1000
    await asking(fenceBeforeServing)
    expect(west.clock.ms - next).toBe(0)
  })

  test('makes the successor fence at once; calls of unknown clusters wake nothing', async () => {
    await asking(fenceBeforeServing)
    expect(east.woken).toEqual(['woken'])
    // after a promotion the cluster calls other clusters all the time, and a silent cluster at once
    const promoted = { operation: 'o', request: 'r', warnings: [], at: east.clock.ms }
    await east.write(key('promoted'), promoted)
    await asking(fenceBeforeServing)
    expect(east.woken).toEqual(['woken'])
    const silent = { result: 'silent' as const, text: '', statements: 0, at: 1 }
    await east.write(key('fences'), { epoch: east.memory.head().ownEpoch, outcomes: { [WEST]: silent } })
    await asking(fenceBeforeServing)
    expect(east.woken).toEqual(['woken', 'woken'])
    const admitted = await east.secondary('west')
    await east.write(key('secondary', 'west'), { ...admitted, publicKey: formatLinkPublicKeys(east.keys) })
    await asking(fenceBeforeServing)
    expect(east.woken).toEqual(['woken', 'woken'])
  })
})

test('a cluster that is not a primary, or no longer writes, calls no address', async () => {
  west.memory.set({ mode: 'closed' })
  expect(await fencing()).toEqual([])
  west.memory.set({ mode: 'writing' })
  await west.write(key('cluster'), { ...west.record, epoch, mode: 'secondary' })
  expect(await fencing()).toEqual([])
})

test.each([
  [undefined, 3, true],
  ['silent', 3, true],
  ['refused', 3, true],
  ['denied', 3, false],
  ['denied', 2, false],
  ['denied', 4, true],
  ['acknowledged', 4, false],
] as const)(
  'a cluster that answered %s to 3 statements is called again with %i: %s',
  (result, chain, due) => {
    const before = result && { result, text: '', at: 0, statements: 3, signers: 1 }
    expect(isFenceDue(before, { chain, signers: 1 })).toBe(due)
  },
)

test.each([
  [0, 1, true],
  [0, 0, false],
  [1, 1, false],
] as const)('a cluster that acknowledged %s signers is called again with %i: %s', (before, signers, due) => {
  const outcome = { result: 'acknowledged' as const, text: '', at: 0, statements: 3, signers: before }
  expect(isFenceDue(outcome, { chain: 3, signers })).toBe(due)
})
