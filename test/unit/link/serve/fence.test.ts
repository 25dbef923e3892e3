import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { formatEpoch } from '../../../../shared/journal/position.ts'
import {
  type LinkOutcome,
  readUnverifiedLinkOutcome,
  signLinkCall,
  verifyLinkOutcome,
} from '../../../../shared/link/envelope.ts'
import { linkMethods } from '../../../../shared/link/methods.ts'
import { claimantRevokedError } from '../../../../shared/link/refusals.ts'
import { isStatementSignedBy, signMemberStatement } from '../../../../shared/link/statements.ts'
import type { MembershipStatement, TermSigner } from '../../../../shared/model/link.ts'
import { putItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { pair } from '../../../builders/link.ts'
import { ADDRESS, follower, primaryWorld, type World } from './world.ts'

/** An epoch of an unknown cluster. */
const STRANGE = formatEpoch(2, randomUUID())

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

interface Change {
  epoch?: string
  lineage?: readonly (readonly [string, number])[]
  chain?: readonly MembershipStatement[]
  signers?: readonly TermSigner[]
  time?: number
  set?: string
  key?: string
  from?: string
}

/** Makes a secondary that was promoted by force, in the epoch with a given number. */
async function claimant(name = 'west', number = 2) {
  const one = follower(w, name)
  const { statement } = await one.activate(await w.token(name))
  const next = pair()
  const epoch = formatEpoch(number, one.cluster)
  const signed = {
    set: w.set,
    subject: one.cluster,
    issuer: one.cluster,
    key: next.keys.signing.toString('base64'),
  }
  const lineage = [[w.epoch, 1] as const, [epoch, 1] as const]
  const chain = [statement, signMemberStatement(one.pair.signing, { ...signed, epoch })]
  const fence = async (change: Change = {}): Promise<LinkOutcome | undefined> => {
    w.clock.ms += 1000
    const claim = { cluster: one.cluster, key: signed.key, epoch, lineage, chain, signers: [] }
    const asked = { ...claim, addresses: [`https://${name}.example`], ...change }
    const body = linkMethods.Fence.forms.question.write(asked)
    const { time = w.clock.ms, set = w.set, from = one.cluster } = change
    const means = { signing: next.signing, nonce: randomBytes(16), time }
    const call = signLinkCall('Fence', { set, from, lineage: asked.lineage }, body, means)
    const answer = await w.serve('Fence', call, '')
    expect(verifyLinkOutcome(w.keys.signing, 'Fence', means.nonce, answer)).toBeDefined()
    return readUnverifiedLinkOutcome(answer)
  }
  const acknowledged = async (change?: Change) => {
    const outcome = await fence(change)
    if (outcome?.kind !== 'body') throw new Error(JSON.stringify(outcome))
    return linkMethods.Fence.forms.answer.read(outcome.body)
  }
  return { ...one, next, epoch, chain, fence, acknowledged }
}

const mode = async () => (await w.store.read([key('cluster')]))[0]?.data.mode
const isUntouched = async () => {
  expect(w.memory.head().mode).toBe('writing')
  expect(await mode()).toBe('primary')
}

describe('a fence by a member', () => {
  test('the fence ends the epoch, makes the primary a secondary, and is acknowledged with a voucher', async () => {
    const one = await claimant('west', 7)
    const got = await one.acknowledged()
    expect(got).toMatchObject({ epoch: w.epoch, seq: 0, cluster: w.record.id, chain: [] })
    expect(got.addresses).toEqual([ADDRESS, 'https://west.example'])
    expect(got.voucher).toMatchObject({ issuer: w.record.id, subject: one.cluster, epoch: one.epoch })
    expect(isStatementSignedBy(w.keys.signing, got.voucher)).toBe(true)
    expect(w.memory.head()).toMatchObject({ mode: 'closed', maxEpoch: 7, successor: one.cluster })
    expect(await mode()).toBe('secondary')
    expect(w.audited.at(-1)).toMatchObject({ event: 'primary-closed', reason: 'fence', below: one.epoch })
  })

  test('a repeated fence gets the same voucher, and each answer is signed for its call', async () => {
    const one = await claimant()
    const first = await one.acknowledged()
    const writes = w.commits.length
    expect(await one.acknowledged()).toEqual(first)
    expect(await one.acknowledged({ time: w.clock.ms - 1000 }), 'a call that was overtaken').toEqual(first)
    expect(w.commits.length, 'and nothing is written again').toBe(writes)
  })

  test('a fence may be repeated while the first call is still running', async () => {
    const one = await claimant()
    const [first, ...others] = await Promise.all([one.acknowledged(), one.acknowledged(), one.acknowledged()])
    for (const other of others) expect(other).toEqual(first)
  })

  test.each([-1, 1])('a fence is accepted although the clocks are ten minutes apart (%i)', async side => {
    const one = await claimant()
    expect(await one.acknowledged({ time: w.clock.ms + side * 600_000 })).toMatchObject({ epoch: w.epoch })
    expect(await mode()).toBe('secondary')
  })

  test('a fence is refused when repeated after its claimant was revoked', async () => {
    const one = await claimant()
    await one.acknowledged()
    const revoked = { at: 1, epoch: w.epoch }
    w.stored.put({ ...key('holder', one.cluster), rev: 'r', data: { name: 'west', at: 1, revoked } })
    expect(await one.fence()).toMatchObject({ refusal: { code: 'permission_denied' } })
  })

  test('a replayed fence of an earlier epoch of the same claimant changes nothing', async () => {
    const one = await claimant('west', 9)
    await one.acknowledged()
    const [before] = await w.store.read([key('member', one.cluster)])
    const earlier = formatEpoch(5, one.cluster)
    const lineage = [[w.epoch, 1] as const, [earlier, 1] as const]
    expect(await one.acknowledged({ epoch: earlier, lineage, time: 1 })).toMatchObject({ epoch: w.epoch })
    expect((await w.store.read([key('member', one.cluster)]))[0]).toEqual(before)
    expect(w.memory.head()).toMatchObject({ maxEpoch: 9, successor: one.cluster })
  })

  test('a fence raises maxEpoch, also of a journal that is closed already', async () => {
    const [one, other] = [await claimant('west', 2), await claimant('north', 9)]
    await one.acknowledged()
    expect(w.memory.head().maxEpoch).toBe(2)
    await other.acknowledged()
    expect(w.memory.head()).toMatchObject({ mode: 'closed', maxEpoch: 9, successor: other.cluster })
    await one.acknowledged()
    expect(w.memory.head(), 'and an earlier claimant takes nothing back').toMatchObject({
      maxEpoch: 9,
      successor: other.cluster,
    })
  })

  test('a fence stores the claimant’s key and address', async () => {
    const one = await claimant()
    await one.acknowledged()
    const [member] = await w.store.read([key('member', one.cluster)])
    expect(member?.data).toMatchObject({
      key: one.next.keys.signing.toString('base64'),
      addresses: ['https://west.example'],
      claimedEpoch: one.epoch,
    })
  })

  test('a fence stores batch-token signers, and a later call of the same epoch may add signers', async () => {
    const one = await claimant()
    const signersOf = async () => (await w.store.read([key('member', one.cluster)]))[0]?.data.signers
    await one.acknowledged()
    expect(await signersOf()).toEqual([])
    const signers = [{ term: 'a term', key: pair().keys.signing.toString('base64') }]
    await one.acknowledged({ signers })
    expect(await signersOf()).toEqual(signers)
  })

  test('a fence is refused if another primary of the set has revoked the claimant, in any epoch', async () => {
    const one = await claimant('west', 7)
    const revoked = { at: 1, epoch: '000001.aaaaaaaaaaaa' }
    await w.store.commit([putItem(key('holder', one.cluster), { name: 'west', at: 1, revoked })])
    expect(await one.fence()).toMatchObject({
      refusal: { code: 'permission_denied', text: expect.stringContaining(`${one.cluster} was revoked`) },
    })
    await isUntouched()
  })

  test('a fence by a cluster admitted in an earlier epoch is accepted, although that cluster may not make other calls', async () => {
    const one = await claimant('west', 9)
    const again = formatEpoch(3, w.record.id)
    await w.write(key('cluster'), { ...w.record, epoch: again })
    w.memory.set({ epoch: again, ownEpoch: again, maxEpoch: 3, lineage: [[again, 1]] })
    await expect(one.heartbeat()).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('before this cluster became primary again'),
    })
    expect(await one.acknowledged()).toMatchObject({ epoch: again })
  })

  test('a fence is accepted also after the claimant’s name was given to another cluster', async () => {
    const one = await claimant('west', 9)
    const again = formatEpoch(3, w.record.id)
    await w.write(key('cluster'), { ...w.record, epoch: again })
    w.memory.set({ epoch: again, ownEpoch: again, maxEpoch: 3, lineage: [[again, 1]] })
    await w.token('west', { epoch: again })
    expect(await one.acknowledged()).toMatchObject({ epoch: again })
  })
})

describe('fences that change nothing', () => {
  test('a fence by a revoked cluster, by a cluster with an old token, or by an unknown cluster changes nothing', async () => {
    const one = await claimant()
    await w.revoke('west')
    expect(await one.fence()).toMatchObject({
      refusal: { code: 'permission_denied', text: claimantRevokedError(one.cluster).message },
    })
    const other = await claimant('north')
    const signers = [{ term: 'a term', key: pair().keys.signing.toString('base64') }]
    expect(await other.fence({ chain: [], signers })).toMatchObject({
      refusal: { code: 'permission_denied' },
    })
    await isUntouched()
    expect(
      (await w.store.read([key('member', one.cluster)]))[0]?.data,
      'not even what is known of it',
    ).not.toHaveProperty('claimed')
    expect((await w.store.read([key('member', other.cluster)]))[0]?.data).not.toHaveProperty('signers')
  })

  test('a fence by a cluster admitted here changes nothing after another cluster admitted this one', async () => {
    const one = await claimant('west', 9)
    const issuer = { id: randomUUID(), key: 'k', epoch: formatEpoch(4, randomUUID()) }
    await w.write(key('member', w.record.id), { statements: [], addresses: [], issuer })
    const again = formatEpoch(5, w.record.id)
    w.memory.set({ epoch: again, ownEpoch: again, maxEpoch: 5, lineage: [[again, 1]] })
    await w.write(key('cluster'), { ...w.record, epoch: again })
    expect(await one.fence()).toMatchObject({ refusal: { code: 'permission_denied' } })
  })

  test.each<[what: string, change: Change, code: string]>([
    ['another set', { set: 'another' }, 'failed_precondition'],
    ['another name', { from: randomUUID() }, 'invalid_argument'],
    ['another key', { key: pair().keys.signing.toString('base64') }, 'unauthenticated'],
    ['no key', { key: 'AAAA' }, 'invalid_argument'],
    ['an epoch of another cluster', { epoch: STRANGE, lineage: [[STRANGE, 1]] }, 'invalid_argument'],
    ['a lineage without its epoch', { lineage: [] }, 'invalid_argument'],
  ])('a fence called by %s changes nothing', async (_, change, code) => {
    const one = await claimant()
    expect(await one.fence(change)).toMatchObject({ refusal: { code } })
    await isUntouched()
  })

  test('a replayed claim changes nothing if the claimant gave up the claim by following this cluster', async () => {
    const one = await claimant('west', 4)
    await one.heartbeat(0, 4)
    expect(await one.fence()).toMatchObject({
      refusal: { code: 'failed_precondition', text: expect.stringContaining('has given up that epoch') },
    })
    await isUntouched()
    const later = formatEpoch(5, one.cluster)
    const lineage = [[w.epoch, 1] as const, [later, 1] as const]
    expect(await one.acknowledged({ epoch: later, lineage }), 'a later claim counts').toMatchObject({
      epoch: w.epoch,
    })
  })

  test('a claim of an epoch that is not later changes nothing', async () => {
    const one = await claimant('west', 2)
    const own = formatEpoch(2, `${w.record.id.slice(0, -12)}ffffffffffff`)
    w.memory.set({ epoch: own, ownEpoch: own, lineage: [[own, 1]] })
    expect(await one.fence()).toMatchObject({
      refusal: { code: 'failed_precondition', text: expect.stringContaining('which is later') },
    })
    expect(w.memory.head().mode).toBe('writing')
  })

  test('a fence changes nothing on a cluster that follows another cluster', async () => {
    const one = await claimant()
    w.memory.set({ mode: 'applying', ownEpoch: '' })
    expect(await one.fence()).toMatchObject({ refusal: { code: 'failed_precondition' } })
  })
})
