import { beforeEach, describe, expect, test } from 'vitest'
import { createNoopEntry } from '../../../../shared/journal/journal-entry.ts'
import { stepDownAsPrimary } from '../../../../shared/journal/step-down.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { ADDRESS, follower, primaryWorld, type World } from './world.ts'

let w: World
beforeEach(async () => {
  w = await primaryWorld()
  w.memory.entries.set(1, createNoopEntry({ epoch: w.epoch, seq: 1 }, w.clock.ms))
  // the second position was allocated, and no entry was written at it
  w.memory.set({ last: 3 })
  w.memory.entries.set(3, createNoopEntry({ epoch: w.epoch, seq: 3 }, w.clock.ms))
})

async function admitted(name = 'west') {
  const one = follower(w, name)
  await one.activate(await w.token(name))
  w.clock.ms += 1000
  const handover = (epoch = w.epoch) => {
    w.clock.ms += 1000
    return one.source.handover({ epoch })
  }
  return { ...one, handover }
}

const record = async () => (await w.store.read([key('cluster')]))[0]?.data
const demote = () => stepDownAsPrimary(w.ports, { reason: 'demote', epoch: w.epoch }, 'a request')

describe('a handover', () => {
  test('the handover ends the epoch exactly for the calling secondary, and makes the primary a secondary', async () => {
    const one = await admitted()
    const got = await one.handover()
    const addresses = [ADDRESS, 'https://west.example']
    expect(got).toEqual({
      epoch: w.epoch,
      seq: 3,
      addresses,
      keyring: expect.stringMatching(/^[\w-]{60,}$/),
    })
    expect(w.memory.head()).toMatchObject({ mode: 'closed', successor: one.cluster, applied: 3 })
    expect(w.memory.entries.get(2)).toMatchObject({ noop: true })
    const { link: before, ...rest } = w.record
    expect(await record()).toEqual({
      ...rest,
      mode: 'secondary',
      modeSince: expect.any(Number),
      link: { secondaryId: '', primaryAddr: '', primaryAddrs: [], primaryKey: '', ownKey: before?.ownKey },
    })
    expect(w.audited.at(-1)).toMatchObject({
      event: 'primary-closed',
      reason: 'handover',
      successor: one.cluster,
      epoch: w.epoch,
      seq: 3,
    })
  })

  test('the successor may repeat the handover with the same result, and gets the rest of the journal', async () => {
    const one = await admitted()
    const end = await one.handover()
    // the keyring is sealed again each time
    expect(await one.handover()).toEqual({ ...end, keyring: expect.any(String) })
    expect(w.audited.filter(entry => 'reason' in entry)).toHaveLength(1)
    const entries = await one.source.entries({ lineage: [[w.epoch, 1]], after: 0, maxBytes: 1000 })
    expect(entries).toMatchObject({ frontier: 3 })
    w.clock.ms += 1000
    expect(await one.heartbeat(3)).toMatchObject({ seq: 3, frontier: 3 })
  })

  test('a replayed handover is refused', async () => {
    const one = await admitted()
    await one.handover()
    const again = follower(w, 'west', { ahead: -1 })
    const late = one.sourceAs(w.set, w.keys.signing)
    w.clock.ms -= 1
    await expect(late.handover({ epoch: w.epoch })).rejects.toMatchObject({ code: 'unavailable' })
    await expect(again.source.handover({ epoch: w.epoch })).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('the handover names one successor, and refuses a second successor of the same name', async () => {
    const [one, other] = [await admitted(), await admitted('north')]
    await one.handover()
    await expect(other.handover()).rejects.toMatchObject({
      code: 'failed_precondition',
      message: `this cluster has handed its role over to ${one.cluster}; another cluster can be promoted by force only`,
      addresses: [ADDRESS, 'https://north.example', 'https://west.example'],
    })
    expect(w.memory.head().successor).toBe(one.cluster)
  })

  test('a demoted cluster hands over to the first cluster that requests the handover', async () => {
    const [one, other] = [await admitted(), await admitted('north')]
    expect(await demote()).toEqual({ epoch: w.epoch, seq: 3 })
    expect(w.memory.head()).toMatchObject({ mode: 'closed', successor: '' })
    expect(await one.handover()).toMatchObject({ seq: 3 })
    await expect(other.handover()).rejects.toThrow('has handed its role over')
    expect(await demote(), 'and once more says the same').toEqual({ epoch: w.epoch, seq: 3 })
  })

  test('of two clusters that request the handover at once, one cluster gets the handover', async () => {
    const [one, other] = [await admitted(), await admitted('north')]
    const results = await Promise.allSettled([one.handover(), other.handover()])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('the handover is granted only to registered clusters that are not revoked', async () => {
    const [one, other] = [await admitted(), await admitted('north')]
    await w.revoke('west')
    await expect(one.handover()).rejects.toMatchObject({ code: 'permission_denied' })
    await expect(follower(w, 'south').source.handover({ epoch: w.epoch })).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    expect(w.memory.head().mode).toBe('writing')
    expect(await other.handover()).toMatchObject({ seq: 3 })
  })

  test('a handover of another epoch than the primary’s is refused, and changes nothing', async () => {
    const one = await admitted()
    await expect(one.handover('000007.aaaaaaaaaaaa')).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(w.memory.head().mode).toBe('writing')
    expect((await record())?.mode).toBe('primary')
  })

  test('a cluster that follows another cluster refuses the handover', async () => {
    const one = await admitted()
    await demote()
    w.memory.set({ mode: 'applying', ownEpoch: '' })
    await expect(one.handover()).rejects.toThrow('this cluster is not a primary: its mode is secondary')
    expect(await demote()).toBeUndefined()
  })
})
