import {
  type ActivationClaims,
  openActivationToken,
  readActivationClaims,
} from '../../link/activation-token.ts'
import { decryptOwnLinkKey, decryptPendingLinkKey, encryptOwnLinkKey } from '../../link/admin/keys.ts'
import { generateLinkKeyPairs, type LinkKeyPairs, parseLinkKeyPairs } from '../../link/pair.ts'
import { type ActivateAnswer, LinkRefused, LinkSilent } from '../../link/source.ts'
import { deployedLinkAddress } from '../../model/cluster.ts'
import type { PendingPrimaryLink } from '../../model/operation.ts'
import { createItem, putItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import {
  handshakeFailedError,
  invalidActivationTokenError,
  tokenAlreadyUsedError,
  tokenSetMismatchError,
} from '../operation/faults.ts'
import {
  commitOperationStep,
  type OperationRun,
  type OperationSnapshot,
  type OperationStep,
  type OperationStepResult,
  readOperation,
  STEP_AGAIN,
  STEP_DONE,
} from '../operation/run.ts'

/** Runs the handshake of a cluster that becomes a secondary. */
export const runHandshake: OperationStep = (run, id) => redeemActivationToken(run, id, 'close')

/**
 * Sends the activation token to the primary, and stores the primary's answer. If the handshake fails, nothing else
 * on this cluster has changed. The step stores the key pair before it sends the public keys, so that a repeated
 * call sends the same keys.
 * @param next the step that follows
 * @param ofSet UUID of the DR set that the token must belong to
 * @throws OperationFailed
 */
export async function redeemActivationToken(
  run: OperationRun,
  id: string,
  next: string,
  ofSet?: string,
): Promise<OperationStepResult> {
  const before = await readOperation(run, id)
  const { ports } = run
  const pending = key('pending-link')
  const [kept] = await ports.store.read([pending])
  if (kept?.data.operation === id) return STEP_DONE
  const pair = await readOrCreateLinkKeys(run, before)
  if (!pair) return STEP_AGAIN
  const activation = await decryptActivation(run, before, parseLinkKeyPairs(pair))
  if (ofSet !== undefined && activation.set !== ofSet) throw tokenSetMismatchError()
  const activated = await requestAdmission(run, before, activation, parseLinkKeyPairs(pair))
  const link = await buildPendingLink(run, before, { activation, activated, pair })
  // the call to the primary takes seconds, and commits need a fresh cluster record
  const snapshot = await readOperation(run, id)
  if (snapshot.operation.data.status !== 'running') return STEP_DONE
  const { token: _, ...input } = snapshot.operation.data.activation ?? { primaryApiAddr: '' }
  return commitOperationStep(run, snapshot, { step: next, activation: input }, [putItem(pending, link)])
}

/**
 * Returns the key pair that this cluster sends, as text: the pair made for a sealed token, or a new pair. Returns
 * undefined if another run stored a key pair at the same time.
 */
export async function readOrCreateLinkKeys(
  { ports }: OperationRun,
  { cluster }: OperationSnapshot,
): Promise<string | undefined> {
  const place = key('pending-key')
  const [made] = await ports.store.read([place])
  if (made) return decryptPendingLinkKey(made.data.pair, ports.cipher)
  const text = generateLinkKeyPairs(ports.entropy.bytes)
  const pair = await ports.cipher.encrypt(place, 'pair', text)
  const change = createItem(place, { pair, createdAt: ports.clock.now() })
  return (await ports.store.commit([change], cluster)) === 'done' ? text : undefined
}

async function decryptActivation(
  { ports }: OperationRun,
  { operation }: OperationSnapshot,
  pair: LinkKeyPairs,
): Promise<ActivationClaims & { token: string }> {
  const sealed = operation.data.activation?.token
  if (!sealed) throw tokenAlreadyUsedError()
  const text = (await ports.cipher.decrypt(operation, 'token', sealed)).reveal()
  const token = text.includes('.') ? text : openActivationToken(pair.exchange, text)
  const activation = token === undefined ? undefined : readActivationClaims(token)
  if (token === undefined || !activation) throw invalidActivationTokenError()
  return { ...activation, token }
}

async function requestAdmission(
  { ports, connect }: OperationRun,
  { operation, record }: OperationSnapshot,
  { token, set, id, primaryKey, addr }: ActivationClaims & { token: string },
  pair: LinkKeyPairs,
): Promise<ActivateAnswer> {
  const { version } = ports.deployment
  const {
    primaryApiAddr = '',
    ca,
    address = deployedLinkAddress(ports.deployment),
  } = operation.data.activation ?? {}
  const otherKey = Buffer.from(primaryKey, 'base64url').toString('base64')
  const addresses = [primaryApiAddr || addr]
  const link = connect({
    set,
    id,
    pair,
    otherKey,
    addresses,
    ca,
    until: ports.clock.now() + bounds.HANDSHAKE_MS,
  })
  try {
    // if this primary has admitted the cluster before, the cluster's present key proves that the next key belongs
    // to the same cluster
    const known = record.data.set === set ? record.data.link?.ownKey : undefined
    const earlier = known && (await decryptOwnLinkKey(known, ports.cipher)).signing
    return await link.activate({ token, cluster: record.data.id, address, version, earlier })
  } catch (error) {
    if (!(error instanceof LinkRefused) && !(error instanceof LinkSilent)) throw error
    throw handshakeFailedError(error)
  }
}

async function buildPendingLink(
  { ports }: OperationRun,
  { operation }: OperationSnapshot,
  { activation, activated, pair }: { activation: ActivationClaims; activated: ActivateAnswer; pair: string },
): Promise<PendingPrimaryLink> {
  const { set, id, addr } = activation
  const { primaryApiAddr = '' } = operation.data.activation ?? {}
  const { exchange } = parseLinkKeyPairs(pair)
  const { keyring, cipher } = await ports.keyFactory.importFrom(
    activated.keyring,
    exchange,
    set,
    ports.clock.now(),
  )
  return {
    operation: operation.sk,
    set,
    secondaryId: id,
    keyring,
    primaryAddr: addr,
    primaryAddrs: [...new Set([primaryApiAddr || addr, addr, ...activated.addresses])],
    memberAddresses: activated.memberAddresses,
    primaryKey: activated.primaryKey,
    ownKey: await encryptOwnLinkKey(pair, cipher),
    statement: activated.statement,
    chain: activated.chain,
  }
}
