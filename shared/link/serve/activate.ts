import { writeReplicationEvent } from '../../journal/events.ts'
import type { RevokedCluster, Secondary, SetMembership } from '../../model/link.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { normaliseMemberAddress } from '../../values/member-address.ts'
import { secretsEqual } from '../../values/secret.ts'
import { isActivationProofOf, openActivationRequest } from '../activation-request.ts'
import { isTokenSignedBy, parseSignerKey, readActivationClaims } from '../activation-token.ts'
import { hashJti } from '../admin/activation.ts'
import { admitTermHolder } from '../admin/holders.ts'
import { isSecondaryOfCurrentEpoch, listSecondaries } from '../admin/secondaries.ts'
import { isLinkCallSignedBy } from '../envelope.ts'
import { mergeMemberAddresses } from '../membership.ts'
import { type MethodQuestion, type MethodReply, readCallBody } from '../methods.ts'
import { formatLinkPublicKeys, isExchangeKey, parseLinkPublicKeys } from '../pair.ts'
import {
  activationProofError,
  callerAddressError,
  callerUnnamedError,
  callSignatureError,
  clusterAdmittedError,
  handoverInProgressError,
  journalIncompleteError,
  notAnActivationTokenError,
  sealedToOtherKeyError,
  secondaryTooOldError,
  selfSecondaryError,
  tokenBeforeRevocationError,
  tokenExpiredError,
  tokenForOtherKeysError,
  tokenInUseError,
  tokenOfEarlierEpochError,
  tokenOfOtherClusterError,
  tokenOfOtherSetError,
  tokenRevokedError,
  tokenUnsealedError,
  tokenUsedError,
} from '../refusals.ts'
import { LINK_FORMAT, type LinkRefused } from '../source.ts'
import { signMemberStatement } from '../statements.ts'
import { readOtherMemberAddresses } from './addresses.ts'
import {
  type AdmittedLinkCall,
  type AdmittedMethodCall,
  type LinkServerPorts,
  ownAddressesOf,
} from './ports.ts'
import { readServingHead } from './reading.ts'

type Newcomer = MethodQuestion<'Activate'>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Admits the cluster that hands in an activation token, and returns the keys and addresses that it needs to follow
 * this cluster. A refused activation changes nothing. If the same cluster repeats the call with the same keys
 * before its first heartbeat, it gets the same answer, because the first answer may have been lost.
 * @throws LinkRefused
 */
export async function serveActivate(
  ports: LinkServerPorts,
  call: AdmittedMethodCall<'Activate'>,
): Promise<MethodReply<'Activate'>> {
  const opened = openQuestion(call)
  checkCaller(opened, call)
  const address = checkAddress(opened, ports)
  const asked = { ...opened, address }
  const head = await readServingHead(ports.journal)
  if (head.mode !== 'writing') throw handoverInProgressError()
  if (call.record.treeComplete !== true) throw await makeIncompleteRefusal(ports)
  const { id, changes } = await admit(asked, call, ports)
  const { cluster } = asked
  const { nonce } = call.envelope
  await writeReplicationEvent(
    'admission',
    Buffer.from(nonce).toString('hex'),
    call.record,
    { id, secondary: cluster, address },
    ports,
  )
  if ((await ports.store.commit(changes, call)) === 'conflict') throw tokenInUseError()
  return makeAnswer(asked, call, head, ports)
}

/**
 * Opens the sealed question of a newcomer. The handler refuses an unsealed token, because anybody who carried the
 * token may have read it.
 */
function openQuestion({ question: outer, pair, set }: AdmittedMethodCall<'Activate'>): Newcomer {
  if (outer.format < LINK_FORMAT) throw secondaryTooOldError(outer.format)
  if (outer.sealed === '') throw tokenUnsealedError()
  const asked = readCallBody('Activate', () => openActivationRequest(pair.exchange, set, outer.sealed))
  if (!asked) throw sealedToOtherKeyError()
  return asked
}

/** Checks the address that the newcomer sends. The newcomer may omit its address. */
function checkAddress({ address }: Newcomer, { deployment }: LinkServerPorts): string {
  const checkToken = address === '' ? '' : normaliseMemberAddress(address, deployment)
  if (checkToken === undefined) throw callerAddressError()
  return checkToken
}

/** Makes the refusal while the journal is being built. Status shows the same progress. */
async function makeIncompleteRefusal({ store }: LinkServerPorts): Promise<LinkRefused> {
  const [reindex] = await store.read([key('reindex')])
  const { done = 0, total = 0 } = reindex?.data ?? {}
  const percent = total > 0 ? Math.min(99, Math.floor((100 * done) / total)) : 0
  return journalIncompleteError(percent)
}

function checkCaller(asked: Newcomer, call: AdmittedLinkCall): void {
  const { signingKey, exchangeKey, cluster } = asked
  const { record, envelope, body, set } = call
  if (signingKey.length !== 32 || !isExchangeKey(exchangeKey) || !UUID.test(cluster))
    throw callerUnnamedError()
  if (!isLinkCallSignedBy(signingKey, 'Activate', envelope, body)) throw callSignatureError()
  if (!isActivationProofOf(signingKey, set, asked, asked.proof)) throw activationProofError()
  if (cluster === record.id) throw selfSecondaryError()
}

/**
 * Checks the token and returns the changes that admit the caller.
 * @throws LinkRefused if this caller may not use the token now
 */
async function admit(asked: Newcomer, call: AdmittedLinkCall, { store, cipher }: LinkServerPorts) {
  const claims = readActivationClaims(asked.token)
  if (!claims) throw notAnActivationTokenError()
  if (claims.set !== call.set) throw tokenOfOtherSetError()
  const place = key('secondary', claims.id)
  const met = key('member', asked.cluster)
  const [item, signer, member, holder] = await store.read([
    place,
    key('token-key'),
    met,
    key('holder', asked.cluster),
  ] as const)
  const signing = signer && (await cipher.decrypt(key('token-key'), 'key', signer.data.key))
  if (!signing || !isTokenSignedBy(parseSignerKey(signing.reveal()), asked.token))
    throw tokenOfOtherClusterError()
  if (claims.exp * 1000 <= call.now) throw tokenExpiredError(claims.exp * 1000)
  const secondary = usable(
    item,
    hashJti(claims.jti),
    revocationTimeInEpoch(call.record, holder?.data.revoked),
  )
  if (!isSecondaryOfCurrentEpoch(secondary.data, call.record)) throw tokenOfEarlierEpochError()
  checkTokenUse(secondary.data, asked)
  refuseDuplicateCluster(await store.list(itemPartitions('secondary')), asked, call)
  const changes: Change[] = [
    replaceItem(place, secondary, markAdmitted(secondary.data, asked, call)),
    // the address stays known even if the secondary's name is given to another cluster
    replaceItem(met, member, updateMember(member?.data, asked)),
    admitTermHolder(asked.cluster, holder, { name: claims.id, at: call.now }),
  ]
  return { id: claims.id, changes }
}

const updateMember = (
  before: SetMembership | undefined,
  { address, signingKey }: Newcomer,
): SetMembership => ({
  statements: [],
  ...before,
  addresses: mergeMemberAddresses(before?.addresses ?? [], [address]),
  key: signingKey.toString('base64'),
})

/**
 * Returns when a cluster was revoked in this epoch. A revocation by another primary is earlier than every token of
 * this primary, whatever the other primary's clock showed.
 */
const revocationTimeInEpoch = (
  { epoch }: AdmittedLinkCall['record'],
  revoked: RevokedCluster | undefined,
): number | undefined => (revoked?.epoch === epoch ? revoked?.at : undefined)

/**
 * Checks that a token exists and is not revoked.
 * @param jti hash of the token's one-use part
 */
function usable(
  item: Item<'secondary'> | undefined,
  jti: string,
  revokedAt: number | undefined,
): Item<'secondary'> {
  if (!item || !secretsEqual(item.data.jti, jti) || item.data.revokedAt !== undefined)
    throw tokenRevokedError()
  if ((revokedAt ?? 0) > item.data.createdAt) throw tokenBeforeRevocationError()
  return item
}

function checkTokenUse({ publicKey, cluster, activatedAt, heartbeat }: Secondary, asked: Newcomer): void {
  const given = formatLinkPublicKeys({ signing: asked.signingKey, exchange: asked.exchangeKey })
  if (
    activatedAt !== undefined &&
    (cluster !== asked.cluster || publicKey !== given || heartbeat !== undefined)
  )
    throw tokenUsedError()
  if (publicKey !== undefined && publicKey !== given) throw tokenForOtherKeysError()
}

/**
 * Refuses a second cluster that uses the id of an admitted cluster. The admitted cluster itself may use another
 * token with the same keys, or with a proof by the key that this cluster knows.
 */
function refuseDuplicateCluster(
  all: readonly Item<'secondary'>[],
  asked: Newcomer,
  { record, set }: AdmittedLinkCall,
): void {
  const given = formatLinkPublicKeys({ signing: asked.signingKey, exchange: asked.exchangeKey })
  const living = listSecondaries(all, record).filter(
    one => one.cluster === asked.cluster && one.activatedAt !== undefined && one.publicKey !== given,
  )
  const keys = living.flatMap(one => parseLinkPublicKeys(one.publicKey ?? '') ?? [])
  const isKnown = keys.some(({ signing }) => isActivationProofOf(signing, set, asked, asked.earlierProof))
  const [first] = living
  if (first && !isKnown) throw clusterAdmittedError(asked.cluster, first.id)
}

const markAdmitted = (
  secondary: Secondary,
  asked: Newcomer,
  { now, envelope }: AdmittedLinkCall,
): Secondary => ({
  ...secondary,
  publicKey: formatLinkPublicKeys({ signing: asked.signingKey, exchange: asked.exchangeKey }),
  cluster: asked.cluster,
  activatedAt: now,
  lastCallTime: Number(envelope.time),
  address: asked.address,
  version: asked.version,
})

async function makeAnswer(
  { cluster, signingKey, exchangeKey }: Newcomer,
  call: AdmittedLinkCall,
  { epoch, lineage }: { epoch: string; lineage: MethodReply<'Activate'>['lineage'] },
  ports: LinkServerPorts,
): Promise<MethodReply<'Activate'>> {
  const { record, set, pair } = call
  const [recovery] = await ports.store.read([key('recovery-key')])
  const { keyring } = await ports.cipher.exportTo(exchangeKey, set)
  const [self] = await ports.store.read([key('member', record.id)])
  const membership = { set, issuer: record.id, subject: cluster, key: signingKey.toString('base64'), epoch }
  return {
    primary: record.id,
    epoch,
    lineage,
    keyring,
    format: LINK_FORMAT,
    recovery: { shares: recovery?.data.shares ?? 0, threshold: recovery?.data.threshold ?? 0 },
    addresses: ownAddressesOf(call, ports),
    memberAddresses: await readOtherMemberAddresses(ports, cluster),
    statement: signMemberStatement(pair.signing, membership),
    chain: [...(self?.data.statements ?? [])],
  }
}
