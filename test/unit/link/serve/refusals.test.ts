import { type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { beforeEach, expect, test } from 'vitest'
import { createApiError } from '../../../../shared/api/errors.ts'
import { createNoopEntry } from '../../../../shared/journal/journal-entry.ts'
import { formatEpoch } from '../../../../shared/journal/position.ts'
import { sealActivationRequest } from '../../../../shared/link/activation-request.ts'
import { openActivationToken } from '../../../../shared/link/activation-token.ts'
import { readUnverifiedLinkOutcome, signLinkCall } from '../../../../shared/link/envelope.ts'
import { linkMethods } from '../../../../shared/link/methods.ts'
import { formatLinkPublicKeys } from '../../../../shared/link/pair.ts'
import * as link from '../../../../shared/link/refusals.ts'
import { LINK_FORMAT, type LinkRefused } from '../../../../shared/link/source.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { LinkMethod } from '../../../../shared/wire/carry.ts'
import { type Call, CallSchema } from '../../../../shared/wire/gen/link_pb.ts'
import { pair } from '../../../builders/link.ts'
import { follower, primaryWorld, START, type World } from './world.ts'

// Each row of the refusal table is reached through the link service.

let w: World
let last: ReturnType<typeof readUnverifiedLinkOutcome>
beforeEach(async () => {
  w = await primaryWorld()
  last = undefined
})

const serve = async (method: LinkMethod, call: Call) => {
  const answer = await w.serve(method, call, '')
  last = readUnverifiedLinkOutcome(answer)
  return answer
}
const newcomer = (name = 'west', ahead = 0) => follower(w, name, { ahead, carry: serve })
const admitted = async (name = 'west') => {
  const one = newcomer(name)
  await one.activate(await w.token(name))
  w.clock.ms += 1000
  return one
}
type Follower = ReturnType<typeof newcomer>

/** Sends a call that does not follow the rules of our own clusters. */
const raw = (
  method: LinkMethod,
  body: Uint8Array,
  { signing = pair().signing, from = 'west', set = String(w.set), time = w.clock.ms, epoch = w.epoch } = {},
) =>
  serve(
    method,
    signLinkCall(method, { set, from, lineage: [[epoch, 1]] }, body, {
      signing,
      nonce: randomBytes(16),
      time,
    }),
  )

/** Sends an `Activate` of a new cluster with changed content. */
const activateWith = async (change: object, signing?: KeyObject, proves?: KeyObject) => {
  const one = newcomer()
  const nothing = { sealed: '', proof: Buffer.alloc(0), earlierProof: Buffer.alloc(0) }
  const keys = { signingKey: one.keys.signing, exchangeKey: one.keys.exchange, format: LINK_FORMAT }
  const asked = { ...one.request, ...keys, ...nothing, token: await w.token('west'), ...change }
  const to = { set: w.set, recipient: w.keys.exchange }
  const sealed = sealActivationRequest(asked, to, { signing: proves ?? one.pair.signing }, randomBytes)
  await raw('Activate', linkMethods.Activate.forms.question.write(sealed), {
    signing: signing ?? one.pair.signing,
  })
}
const heartbeatWith = async (one: Follower, change: object) => {
  const asked = {
    position: { epoch: w.epoch, seq: 0 },
    state: '',
    address: '',
    apiAddress: '',
    roundTripMs: 0,
  }
  const body = linkMethods.Heartbeat.forms.question.write({ ...asked, format: LINK_FORMAT, ...change })
  await raw('Heartbeat', body, { signing: one.pair.signing })
}
/** Sends a `Fence` of a cluster that names a key of its own and signs with this key. */
const fenceBy = async (cluster: string, epoch: string, change: object = {}, signs = pair()) => {
  const own = signs.keys.signing.toString('base64')
  const asked = {
    cluster,
    key: own,
    epoch,
    lineage: [[epoch, 1] as const],
    chain: [],
    addresses: [],
    signers: [],
    ...change,
  }
  await raw('Fence', linkMethods.Fence.forms.question.write(asked), {
    signing: signs.signing,
    from: cluster,
    epoch,
  })
}
const notice = (signing = pair().signing, set = String(w.set)) =>
  raw('Notify', linkMethods.Notify.forms.question.write({}), { signing, set })
const follows = (primaryKey: string) =>
  w.write(key('cluster'), { ...w.record, mode: 'secondary', link: { ...w.record.link, primaryKey } })
const conflicts = () => {
  w.store.commit = async () => 'conflict'
}
const fails = (error: Error) => {
  w.memory.journal.readRaw = () => Promise.reject(error)
}
/** Makes this cluster follow another cluster from the next commit on. */
const closedMeanwhile = () => {
  const { commit } = w.store
  w.store.commit = async changes => {
    w.memory.set({ mode: 'applying', ownEpoch: '' })
    return commit(changes)
  }
}
/** Waits for a request, and ignores its refusal. */
const told = (asked: Promise<unknown>) => asked.catch(() => undefined)
const CLAIMANT = randomUUID()
const CLAIM = formatEpoch(9, CLAIMANT)

/** The requests that reach each row of the refusal table, and the row's text. */
const reached: Record<string, () => Promise<LinkRefused>> = {
  callBodyUnreadableError: async () => {
    const one = await admitted()
    await raw('Heartbeat', Buffer.from('0a', 'hex'), { signing: one.pair.signing })
    return link.callBodyUnreadableError('Heartbeat', 'premature EOF')
  },
  internalLinkError: async () => {
    fails(new Error('secret details'))
    await told((await admitted()).source.items({ keys: [key('policy', 'a')] }))
    return link.internalLinkError()
  },
  linkBusyError: async () => {
    const busy = createApiError('busy', 'the table is busy', 'repeat this')
    fails(busy)
    await told((await admitted()).source.items({ keys: [key('policy', 'a')] }))
    return link.linkBusyError(busy)
  },
  replayedCallError: async () => {
    const one = await admitted()
    await one.heartbeat()
    await heartbeatWith(one, {})
    return link.replayedCallError()
  },
  callerOfEarlierEpochError: async () => {
    const one = await admitted()
    await w.write(key('cluster'), { ...w.record, epoch: formatEpoch(3, w.record.id) })
    await told(one.heartbeat())
    return link.callerOfEarlierEpochError('west')
  },
  callerRevokedError: async () => {
    const one = await admitted()
    await w.revoke('west')
    await told(one.heartbeat())
    return link.callerRevokedError('west')
  },
  unknownCallerError: async () => {
    await told(newcomer('nobody').heartbeat())
    return link.unknownCallerError()
  },
  callerUnnamedError: async () => {
    await activateWith({ cluster: 'west' })
    return link.callerUnnamedError()
  },
  concurrentCallsError: async () => {
    const one = await admitted()
    conflicts()
    await told(one.heartbeat())
    return link.concurrentCallsError()
  },
  claimantRevokedError: async () => {
    const one = await admitted()
    await w.revoke('west')
    await fenceBy(one.cluster, formatEpoch(9, one.cluster))
    return link.claimantRevokedError(one.cluster)
  },
  takeOverGivenUpError: async () => {
    const one = await admitted()
    await heartbeatWith(one, { maxEpoch: 9 })
    const epoch = formatEpoch(9, one.cluster)
    await fenceBy(one.cluster, epoch)
    return link.takeOverGivenUpError(epoch, one.cluster)
  },
  unknownClaimantError: async () => {
    await fenceBy(CLAIMANT, CLAIM)
    return link.unknownClaimantError(CLAIMANT)
  },
  clockSkewError: async () => {
    await told(newcomer('west', 300_001).activate(await w.token('west')))
    return link.clockSkewError(300_001, 300_000, START)
  },
  otherEpochError: async () => {
    await told((await admitted()).source.handover({ epoch: '000007.aaaaaaaaaaaa' }))
    return link.otherEpochError(w.epoch, '000007.aaaaaaaaaaaa')
  },
  epochOfOtherClusterError: async () => {
    const epoch = formatEpoch(9, randomUUID())
    await fenceBy(CLAIMANT, epoch)
    return link.epochOfOtherClusterError(epoch, CLAIMANT)
  },
  staleFenceError: async () => {
    const own = formatEpoch(9, `${CLAIMANT.slice(0, -12)}ffffffffffff`)
    w.memory.set({ epoch: own, ownEpoch: own })
    await fenceBy(CLAIMANT, CLAIM)
    return link.staleFenceError(own, CLAIM)
  },
  selfFenceError: async () => {
    await fenceBy(w.record.id, formatEpoch(9, w.record.id))
    return link.selfFenceError()
  },
  followsNoPrimaryError: async () => {
    await notice()
    return link.followsNoPrimaryError()
  },
  secondaryTooOldError: async () => {
    await heartbeatWith(await admitted(), { format: LINK_FORMAT - 1 })
    return link.secondaryTooOldError(LINK_FORMAT - 1)
  },
  handedOverError: async () => {
    const [one, other] = [await admitted(), await admitted('north')]
    await one.source.handover({ epoch: w.epoch })
    await told(other.source.handover({ epoch: w.epoch }))
    return link.handedOverError(one.cluster)
  },
  handoverInProgressError: async () => {
    w.memory.set({ mode: 'closed' })
    await activateWith({})
    return link.handoverInProgressError()
  },
  notInSetError: async () => {
    const one = await admitted()
    await w.write(key('cluster'), { ...w.record, mode: 'disabled' })
    await told(one.heartbeat())
    return link.notInSetError()
  },
  journalIncompleteError: async () => {
    await w.write(key('cluster'), { ...w.record, treeComplete: false })
    await activateWith({})
    return link.journalIncompleteError(0)
  },
  laterEpochSeenError: async () => {
    const one = await admitted()
    await raw('Keyring', linkMethods.Keyring.forms.question.write({ term: 1 }), {
      signing: one.pair.signing,
      epoch: CLAIM,
    })
    return link.laterEpochSeenError(CLAIM, w.epoch)
  },
  lineageChangedError: async () => {
    const one = await admitted()
    w.memory.set({ lineage: [[w.epoch, 2]] })
    await told(one.source.tree({ level: 'root' }))
    return link.lineageChangedError()
  },
  lineageChangingError: async () => {
    const one = await admitted()
    w.memory.set({ last: 1 })
    w.memory.journal.entries = async () => {
      w.memory.set({ lineage: [[w.epoch, 2]] })
      return [createNoopEntry({ epoch: w.epoch, seq: 1 }, START)]
    }
    await told(one.source.entries({ lineage: [[w.epoch, 1]], after: 0, maxBytes: 1000 }))
    return link.lineageChangingError()
  },
  lineageRevokedError: async () => {
    const revoked = await admitted('north')
    const outlaw = formatEpoch(4, revoked.cluster)
    await w.revoke('north')
    await fenceBy(CLAIMANT, CLAIM, {
      lineage: [
        [outlaw, 1],
        [CLAIM, 5],
      ],
    })
    return link.lineageRevokedError(outlaw)
  },
  noPrimaryJournalError: async () => {
    w.memory.set({ mode: 'applying', ownEpoch: '' })
    await activateWith({})
    return link.noPrimaryJournalError()
  },
  unknownTreePageError: async () => {
    await told((await admitted()).source.tree({ level: 'page', page: 'x#0a' }))
    return link.unknownTreePageError()
  },
  notALinkCallError: async () => {
    await serve('Heartbeat', create(CallSchema))
    return link.notALinkCallError()
  },
  notAnActivationTokenError: async () => {
    await activateWith({ token: 'x.y.z' })
    return link.notAnActivationTokenError()
  },
  callerAddressError: async () => {
    await activateWith({ address: 'https://169.254.169.254' })
    return link.callerAddressError()
  },
  clusterUninitialisedError: async () => {
    w.stored.clear()
    await told(newcomer().heartbeat())
    return link.clusterUninitialisedError()
  },
  notThePrimaryError: async () => {
    const one = await admitted()
    w.memory.set({ mode: 'applying' })
    await told(one.heartbeat())
    return link.notThePrimaryError('primary')
  },
  noticeUnsignedError: async () => {
    await follows(w.keys.signing.toString('base64'))
    await notice()
    return link.noticeUnsignedError()
  },
  otherSetError: async () => {
    await follows(w.keys.signing.toString('base64'))
    await notice(w.pair.signing, 'another set')
    return link.otherSetError()
  },
  tokenUnsealedError: async () => {
    const { pair: own, keys, request } = newcomer()
    const nothing = { sealed: '', proof: Buffer.alloc(0), earlierProof: Buffer.alloc(0), format: LINK_FORMAT }
    const named = { signingKey: keys.signing, exchangeKey: keys.exchange, token: await w.token('west') }
    const body = linkMethods.Activate.forms.question.write({ ...request, ...nothing, ...named })
    await raw('Activate', body, { signing: own.signing })
    return link.tokenUnsealedError()
  },
  sealedToOtherKeyError: async () => {
    await told(newcomer().activate(await (await primaryWorld()).token('west')))
    return link.sealedToOtherKeyError()
  },
  activationProofError: async () => {
    await activateWith({}, undefined, pair().signing)
    return link.activationProofError()
  },
  clusterAdmittedError: async () => {
    const one = await admitted()
    const north = newcomer('north')
    const token = await w.token('north')
    await told(north.source.activate({ ...north.request, cluster: one.cluster, token }))
    return link.clusterAdmittedError(one.cluster, 'west')
  },
  selfSecondaryError: async () => {
    await activateWith({ cluster: w.record.id })
    return link.selfSecondaryError()
  },
  noLongerPrimaryError: async () => {
    const one = await admitted()
    closedMeanwhile()
    await told(one.source.handover({ epoch: w.epoch }))
    return link.noLongerPrimaryError()
  },
  restoredCopyError: async () => {
    const one = await admitted()
    w.ports.deployment = { ...w.ports.deployment, home: 'here' }
    await w.write(key('cluster'), { ...w.record, homeTable: 'there' })
    await told(one.heartbeat())
    return link.restoredCopyError()
  },
  callSignatureError: async () => {
    await activateWith({}, pair().signing)
    return link.callSignatureError()
  },
  termNotYetAddedError: async () => {
    await told((await admitted()).source.keyring({ term: 2 }))
    return link.termNotYetAddedError(2)
  },
  epochTooHighError: async () => {
    const far = formatEpoch(1002, CLAIMANT)
    await fenceBy(CLAIMANT, far)
    return link.epochTooHighError(far, w.epoch)
  },
  tokenBeforeRevocationError: async () => {
    const one = await admitted()
    const token = await w.token('north')
    w.clock.ms += 1000
    await w.revoke('west')
    w.clock.ms += 1000
    const north = newcomer('north')
    await told(north.source.activate({ ...north.request, cluster: one.cluster, token }))
    return link.tokenBeforeRevocationError()
  },
  tokenExpiredError: async () => {
    const token = await w.token('west')
    w.clock.ms += 1_800_000
    await told(newcomer().activate(token))
    return link.tokenExpiredError(START + 1_800_000)
  },
  tokenForOtherKeysError: async () => {
    const one = newcomer()
    const sealed = await w.token('west', { publicKey: formatLinkPublicKeys(one.keys) })
    await told(newcomer().activate(openActivationToken(one.pair.exchange, sealed) ?? ''))
    return link.tokenForOtherKeysError()
  },
  tokenInUseError: async () => {
    const token = await w.token('west')
    conflicts()
    await told(newcomer().activate(token))
    return link.tokenInUseError()
  },
  tokenOfOtherClusterError: async () => {
    const other = await primaryWorld()
    await w.token('west')
    const [signed = '', claims = ''] = (await w.token('north')).split('.')
    const [, , signature = ''] = (await other.token('north')).split('.')
    await activateWith({ token: [signed, claims, signature].join('.') })
    return link.tokenOfOtherClusterError()
  },
  tokenOfOtherSetError: async () => {
    await activateWith({ token: await (await primaryWorld()).token('west') })
    return link.tokenOfOtherSetError()
  },
  tokenOfEarlierEpochError: async () => {
    const token = await w.token('west')
    const epoch = formatEpoch(3, w.record.id)
    await w.write(key('cluster'), { ...w.record, epoch })
    await told(newcomer().activate(token))
    return link.tokenOfEarlierEpochError()
  },
  tokenRevokedError: async () => {
    const token = await w.token('west')
    await w.revoke('west')
    await told(newcomer().activate(token))
    return link.tokenRevokedError()
  },
  tokenUsedError: async () => {
    const token = await w.token('west')
    await newcomer().activate(token)
    w.clock.ms += 1000
    await told(newcomer().activate(token))
    return link.tokenUsedError()
  },
}

/** Refusals that a secondary makes itself, which `source-link.test.ts` tests. */
const SAID_HERE = ['primaryTooNewError']

test('every refusal has a case', () => {
  expect([...Object.keys(reached), ...SAID_HERE].sort()).toEqual(Object.keys(link).sort())
})

test.each(Object.entries(reached))('the service answers %s', async (_, reach) => {
  const { code, message: text } = await reach()
  expect(last).toMatchObject({ refusal: { code, text } })
})

test.each([300_000, -300_000])('clocks that are %i ms apart are accepted', async ahead => {
  expect((await newcomer('west', ahead).activate(await w.token('west'))).set).toBe(w.set)
})
