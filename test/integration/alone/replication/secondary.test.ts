import { beforeEach, describe, expect, test } from 'vitest'
import type { Journal, TransactionElement, TransactionOutcome } from '../../../../shared/journal/journal.ts'
import { createNoopEntry, type JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { addTreeBucket } from '../../../../shared/journal/tree.ts'
import type { SourceLink } from '../../../../shared/link/source-link.ts'
import { takeFollowStep } from '../../../../shared/replication/secondary/follow.ts'
import { type Follower, sendHeartbeat } from '../../../../shared/replication/secondary/follower.ts'
import { applyStagedEntries, stopStagingEntries } from '../../../../shared/replication/secondary/staged.ts'
import { itemPartitions, key } from '../../../../shared/storage/kinds.ts'
import { type Doing, neighbours, policyAt, tokenAt } from '../../../builders/journal.ts'
import {
  asPrimary,
  asWiped,
  claim,
  closeHead,
  commit,
  everythingOf,
  follower,
  linkTo,
  type Member,
  member,
} from '../../../support/set/pair.ts'
import { Crash, crashes } from '../../../support/tables/crash.ts'

const { a, b, apart } = neighbours
const x = policyAt('x')
let east: Member
let west: Member

beforeEach(async () => {
  const clock = { ms: Date.now() }
  ;[east, west] = await Promise.all([member(clock), member(clock)])
  await asPrimary(east)
  await asWiped(west)
})

/** Takes steps until the follower has nothing to do. */
async function caughtUp(one: Follower): Promise<void> {
  for (let steps = 0; ; steps++) {
    const progress = await takeFollowStep(one)
    if (progress !== 'worked') return
    if (steps > 200) throw new Error('it never comes to rest')
  }
}

/** Makes a secondary that has all entries. */
async function synced(): Promise<void> {
  await caughtUp(await follower(west, linkTo(east)))
}

async function isEqual(one = west, other = east): Promise<void> {
  const [mine, theirs] = await Promise.all([everythingOf(one), everythingOf(other)])
  expect(mine.items).toEqual(theirs.items)
  expect(mine.kept).toEqual(mine.right)
  expect(mine.kept).toEqual(theirs.kept)
}

const headOf = async (at: Member) => (await at.journal.head()) ?? expect.unreachable()

const itemOf = async (at: Member, place: Doing[0]) => (await at.journal.readRaw([place]))[0]

/** A follower whose journal has diverged. */
async function withJournal(change: Partial<Journal>, link = linkTo(east)): Promise<Follower> {
  const one = await follower(west, link)
  return { ...one, own: { ...one.own, journal: { ...west.journal, ...change } } }
}

describe('a secondary', () => {
  test('runs a full sync, then streams: items and sums equal the primary’s at the same position', async () => {
    const soon = Math.floor(east.turn.ms / 1000) + 3600
    for (let n = 0; n < 30; n++) await commit(east, [policyAt(`p${n}`), 'v'], [tokenAt(`t${n}`), 'v', soon])
    const one = await follower(west, linkTo(east))
    await caughtUp(one)
    await isEqual()
    expect(await headOf(west)).toMatchObject({
      mode: 'applying',
      last: 30,
      applied: 30,
      replayUntil: 0,
      unfinishedSync: null,
    })
    await commit(east, [a, '1'], [b, '1'], [apart, '1'])
    await commit(east, [a, null], [apart, '2'])
    await commit(east, [policyAt('p3'), null])
    await caughtUp(one)
    await isEqual()
    expect(await headOf(west)).toMatchObject({ last: 33, applied: 33, epoch: (await headOf(east)).epoch })
  })

  test('rewinds commits that the set lacks, and reports these commits', async () => {
    await commit(east, [a, '1'], [apart, '1'])
    const one = await follower(west, linkTo(east))
    await caughtUp(one)
    // east writes alone; west is promoted, and writes too
    await commit(east, [a, '2'])
    await commit(east, [policyAt('lost'), '1'])
    await claim(west)
    await commit(west, [apart, '2'])
    await commit(west, [policyAt('kept'), '1'])
    await closeHead(east)
    const back = await follower(east, linkTo(west))
    await caughtUp(back)
    await isEqual(east, west)
    const head = await headOf(east)
    expect(head).toMatchObject({
      mode: 'applying',
      last: 3,
      applied: 3,
      unfinishedSync: null,
      replayUntil: 0,
    })
  })
})

describe('a process of a secondary dies', () => {
  /**
   * Follows with processes that die one after the other. Each process dies one call later than the previous
   * process.
   */
  async function killedAtEveryCall(link: SourceLink, between: () => Promise<unknown>): Promise<number> {
    for (let at = 1; ; at++)
      for (const when of ['before', 'after'] as const) {
        const { watched } = crashes(at, when)
        const one = await follower(west, link)
        const dying = {
          ...one,
          own: { ...one.own, journal: watched(west.journal), store: watched(west.store) },
        }
        const died = await caughtUp(dying).then(
          () => false,
          error => {
            if (error instanceof Crash) return true
            throw error
          },
        )
        if (!died) return at
        await between()
      }
  }

  test('at any call of a sync and its replay: the next process gets the primary’s items', async () => {
    for (let n = 0; n < 4; n++) await commit(east, [policyAt(`p${n}`), '1'], [a, `${n}`])
    let n = 0
    const deaths = await killedAtEveryCall(linkTo(east), async () => {
      n += 1
      if (n % 4 === 0 && n < 30)
        await commit(east, [policyAt(`p${n % 3}`), n % 8 ? `${n}` : null], [b, `${n}`])
    })
    expect(deaths).toBeGreaterThan(8)
    await isEqual()
    expect(await headOf(west)).toMatchObject({ mode: 'applying', replayUntil: 0, unfinishedSync: null })
  })

  test('at any call of a rewind: the next process gets the set’s items', async () => {
    await commit(east, [a, '1'], [x, '1'])
    await synced()
    for (let n = 0; n < 5; n++) await commit(east, [policyAt(`lost${n}`), '1'], [a, `lost ${n}`])
    await claim(west)
    await commit(west, [x, '2'])
    await closeHead(east)
    ;[east, west] = [west, east]
    const deaths = await killedAtEveryCall(linkTo(east), async () => undefined)
    expect(deaths).toBeGreaterThan(8)
    await isEqual()
  })
})

describe('a secondary under load', () => {
  test('reaches the primary’s position and sums, although other runs apply concurrently', async () => {
    for (let n = 0; n < 20; n++) await commit(east, [policyAt(`p${n}`), '0'])
    let writing = true
    const load = async () => {
      for (let n = 0; n < 60; n++) {
        const token = tokenAt(`t${n % 7}`)
        const expires = Math.floor(east.turn.ms / 1000) + (1 + (n % 5)) * 86_400
        await commit(
          east,
          [token, `${n}`, expires],
          [policyAt(`p${n % 20}`), n % 4 ? `${n}` : null],
          [a, `${n}`],
        )
      }
      writing = false
    }
    const following = async () => {
      const one = await follower(west, linkTo(east))
      while (writing) {
        await takeFollowStep(one)
        await new Promise(resolve => setTimeout(resolve, 2))
      }
    }
    await Promise.all([load(), following(), following()])
    await synced()
    await isEqual()
    const [mine, theirs] = [await headOf(west), await headOf(east)]
    expect([mine.last, mine.applied, mine.epoch]).toEqual([theirs.last, theirs.last, theirs.epoch])
  })

  test('is the same after two concurrent runs', async () => {
    await synced()
    for (let n = 0; n < 10; n++) await commit(east, [a, `${n}`], [policyAt(`p${n}`), '1'])
    const answer = await linkTo(east).entries({
      lineage: (await headOf(west)).lineage,
      after: 0,
      maxBytes: 1,
    })
    if (answer.kind !== 'entries') throw new Error('no entries')
    for (const entry of answer.entries) await west.journal.putEntry(entry)
    const last = answer.entries.at(-1)
    if (last) await west.journal.moveHead(headMoves.stage(await headOf(west), last, answer.lineage))
    const head = await headOf(west)
    expect(head).toMatchObject({ last: 10, applied: 0 })
    const own = (await follower(west, undefined)).own
    const all = await Promise.all([1, 2, 3].map(() => applyStagedEntries(own, west.treeId, head)))
    expect(all).toContain('done')
    expect(await applyStagedEntries(own, west.treeId, head)).toBe('moved')
    await isEqual()
  })
})

describe('a secondary that is far behind', () => {
  const EACH = 210
  /** Makes a primary with a number of commits, which returns some entries at a time, and counts its calls. */
  async function farAhead(): Promise<{
    link: SourceLink
    asked: number[]
    fails: () => void
  }> {
    await synced()
    for (let index = 0; index < 3; index++) await commit(east, [a, `${index}`])
    const { epoch, last } = await headOf(east)
    await east.journal.putEntries(
      Array.from({ length: 2 * EACH }, (_, index) =>
        createNoopEntry({ epoch, seq: last + 1 + index }, east.turn.ms),
      ),
    )
    for (let taken = 0; taken < 2 * EACH; taken++) await east.journal.allocate(epoch)
    await commit(east, [b, 'last'])
    const asked: number[] = []
    const failing = { next: false }
    const link: SourceLink = {
      ...linkTo(east),
      entries: async question => {
        asked.push(question.after)
        const fault = failing.next && asked.length === 2
        const answer = await linkTo(east).entries(question)
        if (fault) throw new Error('the link is broken')
        return answer.kind === 'entries' ? { ...answer, entries: answer.entries.slice(0, EACH) } : answer
      },
    }
    return { link, asked, fails: () => Object.assign(failing, { next: true }) }
  }

  test('requests more entries while the secondary applies', async () => {
    const { link, asked } = await farAhead()
    /** the number of requests at each move of `applied` */
    const before: number[] = []
    const one = await withJournal(
      {
        moveHead: move => {
          if (move.next.applied !== undefined) before.push(asked.length)
          return west.journal.moveHead(move)
        },
      },
      link,
    )
    await caughtUp(one)
    // each entry is requested once, and the second and third requests are answered before the earlier entries
    // are applied
    expect(asked).toEqual([0, 210, 420, 424])
    expect(before).toEqual([2, 3, 3])
    await isEqual()
  })

  /** The stored batches by their first position, and the positions that the head includes. */
  async function storing(
    link: SourceLink,
    events: string[],
    more: Partial<Follower> = {},
  ): Promise<Follower> {
    const one = await withJournal(
      {
        putEntries: async entries => {
          const stored = await west.journal.putEntries(entries)
          events.push(`stored ${entries[0]?.seq}`)
          return stored
        },
        moveHead: move => {
          if (move.next.last !== undefined) events.push(`here ${move.next.last}`)
          return west.journal.moveHead(move)
        },
      },
      link,
    )
    return { ...one, ...more }
  }

  test('stores each journal entry once, before the head includes the entry', async () => {
    const { link } = await farAhead()
    const events: string[] = []
    await caughtUp(await storing(link, events))
    for (const [first, last] of [
      [211, 420],
      [421, 424],
    ]) {
      expect(events.filter(one => one === `stored ${first}`)).toHaveLength(1)
      expect(events.indexOf(`stored ${first}`)).toBeLessThan(events.indexOf(`here ${last}`))
    }
    await isEqual()
  })

  test('stores no prefetched entry of a key term that the secondary may not hold', async () => {
    const { link } = await farAhead()
    const events: string[] = []
    const { kind, pk, sk } = key('role', 'm', 'r')
    const item = { kind, pk, sk, rev: 'r', data: { hmacKey: '7.text' } }
    const encrypted = { kind, pk, sk, prev: null, next: { leaf: 'A'.repeat(43), gen: null }, item }
    const withTerm: SourceLink = {
      ...link,
      entries: async question => {
        const answer = await link.entries(question)
        if (answer.kind !== 'entries') return answer
        return {
          ...answer,
          entries: answer.entries.map(entry => (entry.seq > 420 ? { ...entry, body: [encrypted] } : entry)),
        }
      },
    }
    const holdTerms: Follower['holdTerms'] = async needs => {
      events.push(`term ${needs.number}`)
      return needs
    }
    await caughtUp(await storing(withTerm, events, { holdTerms }))
    expect(events.indexOf('term 7')).toBeGreaterThanOrEqual(0)
    expect(events.indexOf('stored 421')).toBeGreaterThan(events.indexOf('term 7'))
  })

  test('repeats a failed request', async () => {
    const { link, asked, fails } = await farAhead()
    fails()
    await caughtUp(await follower(west, link))
    expect(asked).toEqual([0, 210, 210, 420, 424])
    await isEqual()
  })

  test('discards prefetched entries if the head has changed', async () => {
    const { link, asked } = await farAhead()
    const one = await follower(west, link)
    await takeFollowStep(one)
    // another process has synced meanwhile
    await west.journal.moveHead(headMoves.beginSync(await headOf(west), 'all'))
    const { last: start, epoch, lineage } = await headOf(east)
    const sync = { what: 'all', start: EACH, lineage, hasFetched: false, end: { epoch, seq: start } } as const
    await west.journal.moveHead(headMoves.endSync(await headOf(west), sync))
    await caughtUp(one)
    expect(asked).toEqual([0, 210, 210, 420, 424])
    await isEqual()
  })
})

describe('the applier', () => {
  test('applies no entry before the head includes that entry', async () => {
    await synced()
    await commit(east, [a, '1'])
    const dies = await withJournal({
      moveHead: async () => {
        throw new Crash('before the head says so')
      },
    })
    await expect(takeFollowStep(dies)).rejects.toThrow(Crash)
    expect((await everythingOf(west)).items).toEqual([])
    // the source is gone permanently, and another process finds the staged journal entries
    const said = await withJournal({
      transact: () => Promise.reject(new Crash('before anything is applied')),
    })
    await expect(takeFollowStep(said)).rejects.toThrow(Crash)
    await caughtUp(await follower(west, undefined))
    await isEqual()
  })

  test('applies all staged entries before the cluster does anything else', async () => {
    await synced()
    await commit(east, [a, '1'])
    const said = await withJournal({
      transact: () => Promise.reject(new Crash('before anything is applied')),
    })
    await expect(takeFollowStep(said)).rejects.toThrow(Crash)
    expect(await headOf(west)).toMatchObject({ mode: 'applying', last: 1, applied: 0 })
    expect(await stopStagingEntries((await follower(west, undefined)).own, west.treeId)).toBe('done')
    expect(await headOf(west)).toMatchObject({ mode: 'draining', last: 1, applied: 1 })
    await isEqual()
  })

  test('ignores a frozen process that continues much later', async () => {
    await synced()
    await commit(east, [x, '1'])
    const late: (readonly TransactionElement[])[] = []
    const frozen = await withJournal({
      transact: async elements => {
        late.push(elements)
        throw new Crash('frozen')
      },
    })
    await expect(takeFollowStep(frozen)).rejects.toThrow(Crash)
    await commit(east, [x, null])
    await synced()
    for (const elements of late) expect(await west.journal.transact(elements)).not.toBe('done')
    expect(late.length).toBeGreaterThan(0)
    await isEqual()
  })

  test('reports an item that differs from the one that journal entries expect, and fetches that item', async () => {
    await commit(east, [x, '1'], [a, '1'])
    await synced()
    const mine = (await itemOf(west, x)) ?? expect.unreachable()
    await west.journal.transact([
      {
        kind: 'item',
        item: x,
        put: { ...mine, rev: 'flipped', leaf: 'A'.repeat(43) },
        if: { rev: mine.rev },
      },
    ])
    await commit(east, [x, '2'], [a, '2'])
    const errors: unknown[] = []
    const one = await follower(west, linkTo(east))
    const log = { ...one.own.log, error: (_: string, fields: unknown) => void errors.push(fields) }
    await caughtUp({ ...one, own: { ...one.own, log } })
    expect(errors).toEqual([{ count: 1, items: ['policy policy/x'] }])
    expect((await everythingOf(west)).items).toEqual((await everythingOf(east)).items)
    expect(await headOf(west)).toMatchObject({ mode: 'applying', last: 2, applied: 2, unfinishedSync: null })
  })

  test('gives up an item after three syncs, and applies all other items', async () => {
    await commit(east, [x, '1'])
    await synced()
    const mine = (await itemOf(west, x)) ?? expect.unreachable()
    const wrong = { ...mine, rev: 'wrong', leaf: 'A'.repeat(43), pos: '000001.000000000000/000000000001' }
    await west.journal.transact([{ kind: 'item', item: x, put: wrong, if: { rev: mine.rev } }])
    await commit(east, [x, '2'])
    await commit(east, [x, '3'])
    const link = linkTo(east)
    // a source that returns an old state of one item as if it were current
    let syncs = 0
    const lying: SourceLink = {
      ...link,
      items: async request => {
        syncs += 1
        const given = await link.items(request)
        return { ...given, items: request.keys.map((one, at) => (one.sk === 'x' ? wrong : given.items[at])) }
      },
      heartbeat: async request => ({ ...(await link.heartbeat(request)), seq: 0 }),
    }
    const one = await follower(west, lying)
    const written: object[] = []
    const audit = { write: async (entry: object) => void written.push(entry) }
    await caughtUp({ ...one, own: { ...one.own, audit } })
    expect(syncs).toBe(3)
    expect(written).toEqual([
      expect.objectContaining({ audit: 'replication', event: 'divergence', items: ['policy policy/x'] }),
    ])
    const [diverging] = await west.store.read([key('diverging')])
    expect(diverging?.data.keys).toEqual([expect.objectContaining({ sk: 'x', rounds: 4 })])
    expect(one.session.reported).not.toHaveProperty('fault')
    expect(await headOf(west)).toMatchObject({ mode: 'applying', last: 3, applied: 3, unfinishedSync: null })
    expect((await everythingOf(west)).items).toEqual((await everythingOf(east)).items)
    // at this point the item is as the journal says, without any call
    await commit(east, [x, '4'], [a, '4'])
    await caughtUp(one)
    expect([syncs, (await headOf(west)).applied]).toEqual([3, 4])
    // journal entries overwrite the item that the sync gave up
    const again = (await itemOf(west, x)) ?? expect.unreachable()
    await west.journal.transact([
      { kind: 'item', item: x, put: { ...again, rev: 'flipped' }, if: { rev: again.rev } },
    ])
    await commit(east, [x, null])
    await caughtUp(one)
    expect(syncs).toBe(3)
    expect(await itemOf(west, x)).toBeUndefined()
  })
})

describe('a sync', () => {
  test('does not begin by a heartbeat answer from before this cluster was primary, because a successor may still fetch its journal', async () => {
    const one = await follower(west, linkTo(east))
    await sendHeartbeat(one)
    await caughtUp(one)
    await closeHead(east)
    await claim(west)
    await commit(west, [a, '1'])
    await closeHead(west)
    await caughtUp(one)
    expect(await headOf(west)).toMatchObject({ mode: 'closed', last: 1 })
  })

  /**
   * Makes a follower that delays the first write of a page, and dies; the delayed write may take effect
   * later.
   */
  async function withPageInHand(): Promise<() => Promise<TransactionOutcome>> {
    const kept: (readonly TransactionElement[])[] = []
    const one = await withJournal({
      transact: async elements => {
        if (!elements.some(element => 'item' in element && element.item.kind === 'policy'))
          return west.journal.transact(elements)
        kept.push(elements)
        throw new Crash('with a page in hand')
      },
    })
    await expect(caughtUp(one)).rejects.toThrow(Crash)
    const [page] = kept
    if (!page) throw new Error('no page was written')
    return () => west.journal.transact(page)
  }

  test('rejects a late write of a page that other processes have written', async () => {
    await commit(east, [x, '1'])
    const late = await withPageInHand()
    await synced()
    await commit(east, [x, null])
    await synced()
    expect(await late()).toEqual({ condition: [0] })
    await isEqual()
  })

  test('rejects a late write of a page that no other process has written', async () => {
    await commit(east, [x, '1'])
    const late = await withPageInHand()
    await commit(east, [x, null])
    await synced()
    expect(await headOf(west)).toMatchObject({ mode: 'applying' })
    expect(await late()).toEqual({ condition: expect.arrayContaining([0]) })
    await isEqual()
  })

  test('does not lose a commit that is pending during the sync', async () => {
    const { epoch } = await headOf(east)
    await commit(east, [a, '1'])
    const slow = await east.journal.allocate(epoch)
    if (slow === 'refused') throw new Error('refused')
    await commit(east, [b, '1'])
    east.turn.ms += 120_000
    const link = linkTo(east)
    const one = await follower(west, link)
    await caughtUp(one)
    expect(await headOf(west)).toMatchObject({ last: 1 })
    // the pending commit is decided only now, at a position below the fetched item
    const other = await commitAt(slow, [x, 'slow'])
    expect(other).toBe('done')
    await caughtUp(one)
    expect(await headOf(west)).toMatchObject({ last: 3, applied: 3, replayUntil: 0 })
    await isEqual()
  })

  /** Commits at a position that was allocated earlier. */
  async function commitAt(
    given: { seq: number; incarnation: number },
    ...doings: Doing[]
  ): Promise<TransactionOutcome> {
    let result: TransactionOutcome = 'conflict'
    const journal: Journal = {
      ...east.journal,
      allocate: async () => given,
      transact: async elements => {
        result = await east.journal.transact(elements)
        return 'done'
      },
    }
    await commit({ ...east, journal }, ...doings)
    return result
  }

  test('restarts with another source, because its items are consistent only with the same journal', async () => {
    await commit(east, [a, '1'])
    await synced()
    // west becomes the source; it has never seen east's last entries
    const north = await member(east.turn)
    await asWiped(north)
    await commit(east, [x, 'never shipped to west'], [a, '2'])
    const one = await follower(north, linkTo(east))
    // all items are fetched, and the replay has not begun
    while ((await headOf(north)).mode !== 'applying') await takeFollowStep(one)
    expect(await headOf(north)).toMatchObject({ unfinishedSync: 'all', replayUntil: 2 })
    await claim(west)
    await commit(west, [b, '1'])
    await caughtUp(await follower(north, linkTo(west)))
    await isEqual(north, west)
    expect(await headOf(north)).toMatchObject({ unfinishedSync: null, replayUntil: 0, last: 2, applied: 2 })
  })

  test('of all items deletes items that the source does not have', async () => {
    await commit(east, [a, '1'], [x, '1'])
    await synced()
    await commit(east, [x, null], [b, '1'])
    // the journal with the deletion is no longer retained
    await east.journal.moveHead(headMoves.noteDense(await headOf(east), 2, { isOld: true }))
    await synced()
    await isEqual()
    expect(await headOf(west)).toMatchObject({ retainedFrom: 2, last: 2, applied: 2 })
  })

  /** East has written two more journal entries than west, which has taken over. */
  async function overtaken(): Promise<void> {
    await commit(east, [a, '1'])
    await synced()
    await commit(east, [x, 'lost'])
    await commit(east, [a, 'lost'])
    await claim(west)
    await closeHead(east)
  }

  test('runs in full if the cluster’s own journal entries to rewind are deleted, because deleted entries cannot name the items', async () => {
    await overtaken()
    const one = await follower(east, linkTo(west))
    const journal: Journal = {
      ...east.journal,
      entries: async (lineage, after, to) =>
        (await east.journal.entries(lineage, after, to)).map(entry => (entry?.seq === 2 ? undefined : entry)),
    }
    // the end of east's epoch is known, and no hole is filled
    await caughtUp({
      ...one,
      session: { ...one.session, ownEpochClosed: true },
      own: { ...one.own, journal },
    })
    expect(await itemOf(east, x)).toBeUndefined()
    await isEqual(east, west)
  })

  test('runs in full if the own journal begins after the fork point, and reports the retained part', async () => {
    await overtaken()
    await east.journal.moveHead(headMoves.noteEnd(await headOf(east), { isOld: false }))
    await east.journal.moveHead(headMoves.trim(await headOf(east), 2))
    await caughtUp(await follower(east, linkTo(west)))
    expect(await itemOf(east, x)).toBeUndefined()
    await isEqual(east, west)
    const parts = await east.store.list(itemPartitions('report'))
    expect(parts.flatMap(({ data }) => data.entries.map(({ pos }) => pos))).toEqual([
      expect.stringMatching(/\/0*3$/),
    ])
  })

  test('runs in full if a position without an entry may have been a commit', async () => {
    await commit(east, [a, '1'])
    await synced()
    await commit(east, [x, 'lost'])
    await claim(west)
    east.turn.ms += 31 * 24 * 3_600_000
    // DynamoDB has deleted both journal entries, and other entries have their positions
    const filled = new Map<number, JournalEntry>()
    const gone = (seq: number) => seq <= 2
    const journal: Journal = {
      ...east.journal,
      entries: async (lineage, after, to) =>
        (await east.journal.entries(lineage, after, to)).map(entry =>
          entry && gone(entry.seq) ? filled.get(entry.seq) : entry,
        ),
      putEntry: async entry => {
        filled.set(entry.seq, entry)
        return 'done'
      },
    }
    await east.journal.moveHead(headMoves.noteDense(await headOf(east), 1))
    await closeHead(east)
    const one = await follower(east, linkTo(west))
    await caughtUp({ ...one, own: { ...one.own, journal } })
    expect([...filled.keys()]).toEqual([2])
    expect(await itemOf(east, x)).toBeUndefined()
    await isEqual(east, west)
  })

  test('is not undone by a late wipe, which deletes nothing that was fetched since', async () => {
    await commit(east, [x, '1'])
    const old = addTreeBucket({ ...x, rev: 'r', data: {} }, 'the tree before')
    await west.journal.transact([{ kind: 'item', item: x, put: old, if: 'absent' }])
    const found = [x]
    expect(await west.journal.wipe(found, west.treeId)).toBe(1)
    await synced()
    expect(await west.journal.wipe(found, west.treeId)).toBe(0)
    await isEqual()
  })

  test('stores its report before it undoes any commit', async () => {
    await commit(east, [a, '1'])
    await synced()
    await commit(east, [x, 'lost'], [a, 'lost'])
    await claim(west)
    await closeHead(east)
    const one = await follower(east, linkTo(west))
    const journal: Journal = {
      ...east.journal,
      moveHead: move =>
        move.name === 'beginSync'
          ? Promise.reject(new Crash('before it began'))
          : east.journal.moveHead(move),
    }
    await expect(caughtUp({ ...one, own: { ...one.own, journal } })).rejects.toThrow(Crash)
    const parts = await east.store.list(itemPartitions('report'))
    expect(
      parts.flatMap(({ data }) => data.entries.map(entry => entry.changes.map(change => change.sk))),
    ).toEqual([['x', a.sk]])
    expect((await itemOf(east, x))?.data).toEqual({ value: 'lost' })
    await caughtUp(await follower(east, linkTo(west)))
    expect(await itemOf(east, x)).toBeUndefined()
    await isEqual(east, west)
  })
})
