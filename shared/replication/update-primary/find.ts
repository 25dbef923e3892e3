import { decryptOwnLinkKey } from '../../link/admin/keys.ts'
import { type HeartbeatAnswer, LinkRefused, LinkSilent } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import { apiAddressOf, type ClusterRecord, linkAddressOf, linkToPrimaryOf } from '../../model/cluster.ts'
import { key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { failed, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { redeemActivationToken } from '../activation/handshake.ts'
import { noPrimaryFoundError } from '../operation/faults.ts'
import {
  commitOperationStep,
  type OperationRun,
  type OperationStep,
  type OperationStepResult,
  readOperation,
  STEP_DONE,
} from '../operation/run.ts'

/**
 * Reports whether the record already names the link of this operation, or no link. If the record names the link,
 * the earlier steps have nothing left to do.
 */
export const isPrimaryAdopted = ({ link, mode }: Pick<ClusterRecord, 'link' | 'mode'>, id: string): boolean =>
  link?.name === id || mode === 'disabled'

/**
 * Finds the other primary: redeems its token, or calls addresses. If the search fails, nothing on this cluster has
 * changed.
 * @throws OperationFailed
 */
export const findPrimary: OperationStep = async (run, id) => {
  const snapshot = await readOperation(run, id)
  const { record, operation } = snapshot
  if (isPrimaryAdopted(record.data, id) || operation.data.status !== 'running') return STEP_DONE
  const { form, addresses, foundAddresses } = operation.data.primaryUpdate ?? { form: 'clear', addresses: [] }
  if (form === 'token') return redeemActivationToken(run, id, 'drain', record.data.set)
  if (form === 'clear') return commitOperationStep(run, snapshot, { step: 'drain' })
  if (foundAddresses) return STEP_DONE
  return findAtAddresses(run, id, addresses)
}

/** Calls each address of the set in turn. The first cluster that answers with the key of this set's primary is used. */
async function findAtAddresses(
  run: OperationRun,
  id: string,
  addresses: readonly string[],
): Promise<OperationStepResult> {
  const { record } = await readOperation(run, id)
  const { clock } = run.ports
  const failures = new Map<string, Error>()
  const end = clock.now() + bounds.HANDSHAKE_MS
  for (const [index, address] of addresses.entries()) {
    const share = (end - clock.now()) / (addresses.length - index)
    const answer = await askAddress(run, record.data, { address, until: clock.now() + share })
    if (answer instanceof Error) {
      failures.set(address, answer)
      continue
    }
    // calls take seconds, so the operation is read again
    const snapshot = await readOperation(run, id)
    const { primaryUpdate, status } = snapshot.operation.data
    if (!primaryUpdate || status !== 'running') return STEP_DONE
    const found = [...new Set([address, ...answer.addresses])]
    const next = { step: 'drain', primaryUpdate: { ...primaryUpdate, foundAddresses: found } }
    return commitOperationStep(run, snapshot, next)
  }
  throw noPrimaryFoundError(failures)
}

const FIND_TRIES = 3
const FIND_PAUSE_MS = 500

/** @returns the cluster's answer, or the error if no answer arrives */
async function askAddress(
  { ports, connect }: OperationRun,
  record: ClusterRecord,
  { address, until }: { address: string; until: number },
): Promise<HeartbeatAnswer | Error> {
  const known = linkToPrimaryOf(record)
  if (!known || record.set === undefined) return new Error('this cluster has no credentials')
  const pair = await decryptOwnLinkKey(known.ownKey, ports.cipher)
  const { secondaryId, primaryKey: otherKey, ca } = known
  const link = connect({ set: record.set, id: secondaryId, pair, otherKey, addresses: [address], ca, until })
  const [head, [puller]] = await Promise.all([ports.journal.head(), ports.store.read([key('puller')])])
  const own = linkAddressOf(record, ports.deployment)
  const apiAddress = apiAddressOf(record, ports.deployment)
  const position = { epoch: head?.epoch ?? '', seq: head?.applied ?? 0 }
  const request = { position, state: puller?.data.state ?? 'idle', address: own, apiAddress }
  const pause = () => ports.clock.sleep(FIND_PAUSE_MS)
  const found = await retryOnConflict({ tries: FIND_TRIES, pause }, async () => {
    const answer = await sendAndCatch(link, request)
    if (!(answer instanceof LinkRefused)) return ok(answer)
    // the puller's heartbeat may have happened in between
    return ports.clock.now() + FIND_PAUSE_MS >= until ? ok(answer) : failed(answer)
  })
  return found.ok ? found.value : found.fault
}

const sendAndCatch = (link: SourceLink, request: Parameters<SourceLink['heartbeat']>[0]) =>
  link.heartbeat(request).catch((error: unknown) => {
    if (error instanceof LinkRefused || error instanceof LinkSilent) return error
    throw error
  })
