import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { createNoopEntry, type JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { LinkRefused, LinkSilent } from '../../../../shared/link/source.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import type { Change } from '../../../../shared/storage/changes.ts'
import type { CarryLinkCall, LinkMethod } from '../../../../shared/wire/carry.ts'
import { AnswerSchema, CallSchema } from '../../../../shared/wire/gen/link_pb.ts'
import { sized } from '../../../support/runner/size.ts'
import { chanceFrom } from '../../../support/set/chance.ts'
import { follower, primaryWorld, START, type World } from './world.ts'

// A network that loses, repeats, reorders, delays, cuts, changes and replays messages between one primary and its
// secondaries.

const MESSAGES = sized(1000, 10_000)
const SEED = Number(process.env['LINK_CHAOS_SEED'] ?? 20_261_122)
const SECONDARIES = 4

interface Recorded {
  method: LinkMethod
  bytes: Uint8Array
}

/** Carries bytes unreliably. `calm` makes the network reliable again. */
function badNetwork(world: World, random: () => number) {
  const seen: Recorded[] = []
  const counts: Record<string, number> = {}
  let bad = true
  const chance = (name: string, of: number): boolean => {
    const happens = bad && random() < of
    if (happens) counts[name] = (counts[name] ?? 0) + 1
    return happens
  }
  const mangled = (bytes: Uint8Array): Uint8Array => {
    if (chance('cut off', 0.04)) return bytes.subarray(0, Math.floor(random() * bytes.length))
    if (!chance('changed', 0.06)) return bytes
    const copy = Buffer.from(bytes)
    const at = Math.floor(random() * copy.length)
    copy.writeUInt8(copy.readUInt8(at) ^ (1 << Math.floor(random() * 8)), at)
    return copy
  }
  const later = () => new Promise(resolve => setImmediate(resolve))
  async function arrive({ method, bytes }: Recorded): Promise<Uint8Array> {
    while (chance('delayed', 0.3)) await later()
    const answer = await world.serve(method, fromBinary(CallSchema, bytes), '')
    return toBinary(AnswerSchema, answer)
  }
  const unseen = (one: Recorded) => void arrive(one).catch(() => undefined)
  const carry: CarryLinkCall = async (method, call) => {
    const sent = { method, bytes: toBinary(CallSchema, call) }
    seen.push(sent)
    if (chance('lost', 0.1)) throw new Error('lost')
    if (chance('repeated', 0.15)) unseen(sent)
    const old = seen[Math.floor(random() * seen.length)]
    if (old && chance('played back', 0.2)) unseen(old)
    // replays the message as a call of another method
    if (old && chance('played back as another', 0.05)) unseen({ ...old, method: 'Heartbeat' })
    const answer = await arrive({ method, bytes: mangled(sent.bytes) })
    if (chance('answer lost', 0.1)) throw new Error('answer lost')
    return fromBinary(AnswerSchema, mangled(answer))
  }
  return {
    carry,
    counts,
    calm: () => {
      bad = false
    },
    settle: later,
  }
}

/** Returns the times of signed calls that took effect on a secondary's item, in order. */
const effectsOn = (commits: readonly (readonly Change[])[], id: string): number[] =>
  commits.flat().flatMap(change => {
    if (change.kind !== 'put' || change.key.kind !== 'secondary' || change.key.sk !== id) return []
    const { lastCallTime } = change.data as Secondary
    return lastCallTime > 0 ? [lastCallTime] : []
  })

const entryAt = (epoch: string, seq: number): JournalEntry =>
  seq % 5 === 0
    ? createNoopEntry({ epoch, seq }, START)
    : { epoch, seq, id: `commit ${seq}`, at: START, body: [] }

interface Member {
  name: string
  one: ReturnType<typeof follower>
  token: string
  active: boolean
  held: JournalEntry[]
}

test(`${MESSAGES} messages over a bad network: no signed call takes effect twice, and every secondary catches up`, {
  timeout: 20_000 + 50 * MESSAGES,
}, async () => {
  const random = chanceFrom(SEED)
  const world = await primaryWorld()
  const network = badNetwork(world, random)
  const all: Member[] = []
  for (let index = 0; index < SECONDARIES; index++) {
    const name = `s${index}`
    const one = follower(world, name, { carry: network.carry, ahead: Math.round((random() - 0.5) * 60_000) })
    all.push({ name, one, token: await world.token(name, { ttl: 10 ** 9 }), active: false, held: [] })
  }
  const grow = (by: number) => {
    const { last } = world.memory.head()
    for (let at = last + 1; at <= last + by; at++) world.memory.entries.set(at, entryAt(world.epoch, at))
    world.memory.set({ last: last + by })
  }
  const lineage = [[world.epoch, 1]] as const

  async function step(member: Member): Promise<void> {
    const { one, held, token } = member
    if (!member.active) {
      const got = await one.activateBy(token)
      expect(one.opened(got.keyring)).toBe('the keys')
      member.active = true
    } else if (random() < 0.5) await one.heartbeat(held.length)
    else {
      const from = held.length
      const got = await one.source.entries({ lineage, after: from, maxBytes: 2000 })
      if (got.kind !== 'entries') throw new Error('the journal has not diverged')
      if (held.length === from) held.push(...got.entries)
    }
  }
  const unexpected: unknown[] = []
  const tried = (member: Member) =>
    step(member).catch((error: unknown) => {
      // The answer to a successful activation was lost. After a heartbeat the activation token cannot be used
      // again.
      if (!(error instanceof LinkSilent || error instanceof LinkRefused)) unexpected.push(error)
    })

  for (let sent = 0; sent < MESSAGES; sent += SECONDARIES) {
    world.clock.ms += 1 + Math.floor(random() * 20)
    if (random() < 0.2) grow(Math.floor(random() * 4))
    await Promise.all(all.map(tried))
  }
  network.calm()
  for (let turn = 0; turn < 50; turn++) await network.settle()
  expect(unexpected).toEqual([])

  for (const member of all) {
    world.clock.ms += 1000
    if (!member.active) await member.one.activateBy(member.token)
    const { last } = world.memory.head()
    for (let turn = 0; member.held.length < last && turn < 10_000; turn++) {
      const got = await member.one.source.entries({ lineage, after: member.held.length, maxBytes: 100_000 })
      if (got.kind === 'entries') member.held.push(...got.entries)
    }
    await member.one.heartbeat(last)
    expect(member.held, member.name).toEqual(
      Array.from({ length: last }, (_, index) => world.memory.entries.get(index + 1)),
    )
    const times = effectsOn(world.commits, member.name)
    expect(times.length).toBeGreaterThan(1)
    expect(times, 'each later than the one before: none twice, none out of order').toEqual(
      [...new Set(times)].toSorted((a, b) => a - b),
    )
  }
  // the test is only valid if each kind of fault has happened
  for (const name of ['lost', 'answer lost', 'repeated', 'delayed', 'played back', 'cut off', 'changed'])
    expect(network.counts[name], name).toBeGreaterThan(0)
})
