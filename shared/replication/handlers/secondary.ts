import { type Call, type CallOutcome, noContentAnswer } from '../../api/call.ts'
import { textField, unsupportedField } from '../../api/fields.ts'
import { writeReplicationEvent } from '../../journal/events.ts'
import { openActivationToken, readActivationClaims } from '../../link/activation-token.ts'
import { decryptPendingLinkKey } from '../../link/admin/keys.ts'
import { parseLinkKeyPairs } from '../../link/pair.ts'
import { linkToPrimaryOf } from '../../model/cluster.ts'
import type { ActivationInput } from '../../model/operation.ts'
import { putItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import {
  awaitOperation,
  beginOperation,
  createOperationStart,
  type OperationStart,
} from '../operation/operate.ts'
import {
  activationTokenExpiredError,
  notInASetError,
  operationFailedError,
  tokenOfDifferentSetError,
  unusableTokenError,
} from '../operation/refusals.ts'
import { checkRoleTransition } from '../operation/transitions.ts'
import { parseMemberAddress, resolveOwnLinkAddress } from './addresses.ts'
import { loadAuthorities } from './certificates.ts'
import { requireClusterRecord } from './record.ts'

export const becomeSecondaryFields = {
  token: textField('Activation token from the primary', { secret: true, required: true }),
  primary_api_addr: textField('Address of the primary, instead of the address in the token'),
  ca_cert: textField(
    'PEM certificates of the authorities that may sign the primary’s certificate; default: public authorities',
  ),
  ca_file: textField('Name of a file that holds ca_cert, in the folder of the setting caBundles'),
  ca_path: textField(
    'Name of a folder of certificate files in the folder of caBundles; "." stands for all files',
  ),
  client_cert_pem: unsupportedField('Certificate of the caller'),
  client_key_pem: unsupportedField('Key of the caller'),
}

/** Returns the keys of the items to add to the first read of an activation request. */
export const prepareActivation = async () => ({ keys: [key('cluster'), key('pending-key')] as const })

/**
 * Handles POST sys/replication/dr/secondary/enable: this cluster deletes its items and becomes a secondary. The
 * handler calls the primary first, so if the primary refuses, nothing has changed on this cluster.
 */
export async function becomeSecondary(call: Call<typeof becomeSecondaryFields>): Promise<CallOutcome> {
  const { ports, request } = call
  const { record } = call.cluster
  const item = requireClusterRecord(call)
  checkRoleTransition('secondary/enable', record)
  const operating = createOperationStart(ports)
  const activation = await parseActivationToken(call, operating)
  await writeReplicationEvent('activation', operating.id, record, { request: request.id }, ports)
  await beginOperation(operating, item, { name: 'activation', step: 'handshake', activation }, call)
  const { status, fault } = await awaitOperation(operating.id, ports, ({ step }) => step !== 'handshake')
  if (status === 'failed') throw operationFailedError(fault)
  return { answer: noContentAnswer([BECOMING]) }
}

const BECOMING =
  'the primary has admitted this cluster as a secondary: this cluster deletes its items, and serves no clients until its first sync has ended; GET sys/replication/dr/status shows the progress. After the sync, the primary’s tokens and recovery shares are valid on this cluster'

/**
 * Returns the input of an operation that follows a primary.
 * @param ofSet UUID of the set that the token must belong to; absent: any
 * @throws ApiError for parameters that this cluster itself recognises as unusable
 */
export async function parseActivationToken(
  call: ActivationCall,
  { place }: OperationStart,
  ofSet?: string,
): Promise<ActivationInput> {
  const { parameters, ports, request } = call
  const { record } = call.cluster
  const ca = await loadAuthorities(parameters, ports.authorities)
  const primaryApiAddr = parseMemberAddress(
    parameters.primary_api_addr ?? '',
    'primary_api_addr',
    ports.deployment,
  )
  const token = await usableToken(parameters.token ?? '', call, ofSet)
  return defined({
    token: await ports.cipher.encrypt(place, 'token', token),
    primaryApiAddr,
    address: resolveOwnLinkAddress(record, ports.deployment, request),
    ca,
  })
}

type ActivationCall = Pick<
  Call<typeof becomeSecondaryFields>,
  'parameters' | 'fetched' | 'ports' | 'now' | 'request' | 'cluster'
>

async function usableToken(
  tokenText: string,
  { fetched, ports, now }: ActivationCall,
  ofSet: string | undefined,
): Promise<string> {
  const pending = fetched.get(key('pending-key'))
  const sealed = !tokenText.includes('.')
  const pair =
    sealed && pending && parseLinkKeyPairs(await decryptPendingLinkKey(pending.data.pair, ports.cipher))
  const token = sealed ? pair && openActivationToken(pair.exchange, tokenText) : tokenText
  const activation = token ? readActivationClaims(token) : undefined
  if (!activation) throw unusableTokenError()
  // the primary's administrator chose this address when the token was made
  parseMemberAddress(activation.addr, 'the address in the token', ports.deployment)
  if (ofSet !== undefined && activation.set !== ofSet) throw tokenOfDifferentSetError()
  if (activation.exp * 1000 <= now) throw activationTokenExpiredError()
  return tokenText
}

/**
 * Handles POST sys/replication/dr/secondary/disable: this cluster leaves its set and serves clients with its copy.
 * The former primary, if it is alive, keeps serving too.
 */
export async function disableSecondary(call: Call): Promise<CallOutcome> {
  const { ports } = call
  const item = requireClusterRecord(call)
  checkRoleTransition('secondary/disable', call.cluster.record)
  const before = await ports.journal.head()
  const whole = before?.unfinishedSync === null && before.mode !== 'syncing'
  const operating = createOperationStart(ports)
  const update = { form: 'clear', addresses: [] } as const
  await beginOperation(operating, item, { name: 'disable', step: 'find', primaryUpdate: update }, call)
  // the cluster serves after `leave`, so the caller need not wait for `forget`
  const { status, fault } = await awaitOperation(operating.id, ports, ({ step }) => step === 'forget')
  if (status === 'failed') throw operationFailedError(fault)
  return { answer: noContentAnswer(whole ? [LEFT, TWIN] : [LEFT, TWIN, TORN]) }
}

const LEFT =
  'replication is being switched off, with a short interruption: this cluster has left its set, serves clients from now on, and can return to the set only after its data is deleted'
const TWIN =
  'if the primary is alive, both clusters hold the same tokens, access lists and AWS credentials: a token revoked on one cluster is valid on the other cluster, an instance may log in to both clusters, and auth/…/config/rotate-root on one cluster deletes the other cluster’s access key; revoke tokens and configure separate credentials on this cluster. New batch tokens are valid on this cluster alone'
const TORN =
  'the copy was incomplete, because a sync was running or had not ended; the items of this cluster may be from different moments'

/**
 * Handles POST sys/replication/recover, and sys/replication/dr/secondary/recover with an operation token: restarts
 * following on a secondary that stopped because its syncs did not succeed.
 */
export function recoverPrimaryLink({ ports, now, ...call }: Call): CallOutcome {
  const { record } = call.cluster
  if (record.mode === 'disabled') throw notInASetError()
  if (record.mode === 'primary') return { answer: noContentAnswer([IS_PRIMARY]) }
  if (!linkToPrimaryOf(record)) return { answer: noContentAnswer([ALONE]) }
  return {
    answer: noContentAnswer([RESTARTED]),
    changes: [putItem(key('recovery'), { at: now })],
    // if waking the puller fails, it starts within a minute
    afterwards: () => ports.puller.wake(),
  }
}

const RESTARTED =
  'this cluster tries again to follow its primary; GET sys/replication/dr/status shows the progress'
const ALONE =
  'this cluster follows no primary, so this cluster has nothing to fetch again; give this cluster the token of a primary by POST sys/replication/dr/secondary/update-primary'
const IS_PRIMARY =
  'this cluster is a primary: a primary follows no cluster, and maintains its journal every minute; the request has changed nothing'
