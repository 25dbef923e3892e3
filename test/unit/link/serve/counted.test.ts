import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { formatEpoch } from '../../../../shared/journal/position.ts'
import {
  generateSignerKey,
  makeActivationJwt,
  parseSignerKey,
  readActivationClaims,
} from '../../../../shared/link/activation-token.ts'
import { signLinkCall } from '../../../../shared/link/envelope.ts'
import { linkMethods } from '../../../../shared/link/methods.ts'
import { pair } from '../../../builders/link.ts'
import { follower, guessed, primaryWorld, type World } from './world.ts'

// Guessed tokens and attempted fences appear in the audit log, and cannot fill it.

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

const told = () =>
  w.audited.flatMap(entry => {
    const { audit, counts, reason } = entry as { audit: string; counts: object; reason: object }
    return audit === 'refusals' ? [{ reason, counts }] : []
  })
const reason = { why: 'link' }

/** Makes a token with all claims of a real token, signed with the guesser's own key. */
async function guess() {
  const claims = readActivationClaims(await w.token('north'))
  if (!claims) throw new Error('no token')
  const token = makeActivationJwt(parseSignerKey(generateSignerKey()), claims)
  await expect(follower(w, 'north').activate(token)).rejects.toThrow('not made by this cluster')
}

async function claim() {
  const stranger = pair()
  const cluster = randomUUID()
  const epoch = formatEpoch(2, cluster)
  const lineage = [[w.epoch, 1] as const, [epoch, 1] as const]
  const key = stranger.keys.signing.toString('base64')
  const asked = { cluster, key, epoch, lineage, chain: [], addresses: [], signers: [] }
  const body = linkMethods.Fence.forms.question.write(asked)
  const means = { signing: stranger.signing, nonce: randomBytes(16), time: w.clock.ms }
  await w.serve('Fence', signLinkCall('Fence', { set: w.set, from: cluster, lineage }, body, means), '')
}

test('the first guess of an activation token is logged at once, and guesses of the next ten seconds in one entry', async () => {
  await guess()
  expect(told()).toEqual([{ reason, counts: { 'Activate unauthenticated': 1 } }])
  for (let n = 0; n < 30; n++) await guess()
  for (let n = 0; n < 20; n++) await claim()
  expect(told()).toHaveLength(1)
  w.clock.ms += 10_000
  await claim()
  expect(told().slice(1)).toEqual([
    { reason, counts: { 'Activate unauthenticated': 30, 'Fence permission_denied': 20 } },
  ])
})

test('the next call of any method logs the pending counts of refusals', async () => {
  const one = follower(w, 'north')
  await one.activate(await w.token('north'))
  for (let n = 0; n < 3; n++) await claim()
  w.clock.ms += 10_000
  await one.heartbeat()
  expect(told()).toEqual([
    { reason, counts: { 'Fence permission_denied': 1 } },
    { reason, counts: { 'Fence permission_denied': 2 } },
  ])
})

test('an accepted activation token causes no refusal entry', async () => {
  const one = follower(w, 'west')
  await one.activate(await w.token('west'))
  w.clock.ms += 60_000
  await one.heartbeat()
  expect(told()).toEqual([])
})

test('a guess of an activation token gets an internal error if its audit entry cannot be written', async () => {
  w.ports.audit.write = async () => {
    throw new Error('the log is full')
  }
  const token = await w.token('west')
  await expect(follower(w, 'west').activate(guessed(token))).rejects.toMatchObject({ code: 'unavailable' })
})
