import { type Call, type CallOutcome, noContentAnswer } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { boolField, textField } from '../../api/fields.ts'
import type { OperationState, PromotionState } from '../../model/operation.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { secretsEqual } from '../../values/secret.ts'
import { awaitOperation, beginOperation, createOperationStart } from '../operation/operate.ts'
import { operationFailedError } from '../operation/refusals.ts'
import { checkRoleTransition } from '../operation/transitions.ts'
import { readWaitingExecution } from '../operation/waiting.ts'
import { parseMemberAddress } from './addresses.ts'
import { requireClusterRecord } from './record.ts'

export const promoteFields = {
  primary_cluster_addr: textField(
    'Address of this cluster for secondaries; default: the configured address, or the address of this request',
  ),
  force: boolField('Promote despite obstacles, even if the primary may still be serving'),
}

/** Reads the items that a promotion needs together with the request's first read. */
export const preparePromotion = async () => ({ keys: [key('cluster'), key('promoted')] as const })

/** Milliseconds for which a repeated request gets the answer of the completed promotion. */
const ANSWER_REMEMBERED_MS = 600_000

/**
 * Handles POST sys/replication/dr/secondary/promote: this secondary takes over from its primary. A repeated request
 * joins the running promotion, or gets the answer of the completed promotion.
 */
export async function promoteSecondary(call: Call<typeof promoteFields>): Promise<CallOutcome> {
  const { ports, parameters } = call
  const { record } = call.cluster
  const item = requireClusterRecord(call)
  const address = parseMemberAddress(
    parameters.primary_cluster_addr ?? '',
    'primary_cluster_addr',
    call.ports.deployment,
  )
  if (call.operator === undefined) return repeatPromotion(call, item, address)
  const running = await runningOf(call, record.operation)
  const joins = running && (await isSame(call, running.promotion, address))
  if (joins) return outcomeOf(await awaitOperation(running.id, ports))
  const waiting = await readWaitingExecution('promotion', ports)
  const force = parameters.force ?? waiting?.data.options['force'] === true
  const requestHmac = await requestHmacOf(call, address)
  // the promotion learns the end of the primary's journal by asking the primary to hand over
  const { end } = running?.promotion ?? {}
  const promotion: PromotionState = defined({
    force,
    requestHmac,
    warnings: [],
    address: address || undefined,
    end,
  })
  const operating = createOperationStart(ports)
  await beginOperation(operating, item, { name: 'promotion', step: 'verify', promotion }, call, waiting)
  return outcomeOf(await awaitOperation(operating.id, ports))
}

/** Returns the HMAC of the operation token and all parameters, by which a repeated request is recognised. */
const requestHmacOf = (call: Call<typeof promoteFields>, address: string): Promise<string> =>
  call.ports.cipher.hmac(
    JSON.stringify([call.raw['dr_operation_token'] ?? '', call.parameters.force ?? false, address]),
  )

/** Returns the running operation if that operation is a promotion. */
async function runningOf({ ports }: Call<typeof promoteFields>, operation: string | undefined) {
  const [item] = operation === undefined ? [] : await ports.store.read([key('operation', operation)])
  const { promotion } = item?.data ?? {}
  return item && promotion ? { id: item.sk, promotion } : undefined
}

/** Reports whether a request repeats the running promotion. Called on a secondary, which has checked the operation token. */
async function isSame(
  call: Call<typeof promoteFields>,
  promotion: PromotionState,
  address: string,
): Promise<boolean> {
  const alike = promotion.force === (call.parameters.force ?? false) && (promotion.address ?? '') === address
  return alike || secretsEqual(promotion.requestHmac, await requestHmacOf(call, address))
}

/**
 * Answers a repeated promotion request on a cluster that is no longer a secondary. No operation token is valid on
 * such a cluster, so only exactly the same request gets the answer.
 */
async function repeatPromotion(
  call: Call<typeof promoteFields>,
  { data: record }: Item<'cluster'>,
  address: string,
): Promise<CallOutcome> {
  const { ports, fetched, now } = call
  const promoted = fetched.get(key('promoted'))?.data
  const [running] = record.operation ? await ports.store.read([key('operation', record.operation)]) : []
  const known = running?.data.promotion?.requestHmac ?? promoted?.requestHmac
  const same = known !== undefined && secretsEqual(known, await requestHmacOf(call, address))
  if (same && record.operation && running?.data.promotion)
    return outcomeOf(await awaitOperation(record.operation, ports))
  if (same && promoted && now - promoted.at <= ANSWER_REMEMBERED_MS)
    return { answer: noContentAnswer([BECOMING, ...promoted.warnings]) }
  checkRoleTransition('secondary/promote', record)
  throw new ApiError('internal', 'a promotion without an operator was allowed')
}

function outcomeOf({ status, promotion, fault }: OperationState): CallOutcome {
  if (status === 'done') return { answer: noContentAnswer([BECOMING, ...(promotion?.warnings ?? [])]) }
  throw operationFailedError(fault)
}

const BECOMING =
  'this cluster has become the primary of its DR set, with a short interruption; other clusters need new activation tokens to follow this cluster'

/**
 * Handles POST sys/replication/dr/primary/demote: ends this cluster's journal at an exact position. After the
 * demotion the cluster serves no clients. If the journal has ended already, the handler returns the same end again.
 */
export async function demotePrimary(call: Call): Promise<CallOutcome> {
  const { ports } = call
  const item = requireClusterRecord(call)
  checkRoleTransition('primary/demote', item.data)
  if (call.cluster.record.mode === 'secondary') return answerEndOfJournal(call, ALREADY)
  const operating = createOperationStart(ports)
  await beginOperation(operating, item, { name: 'demotion', step: 'close' }, call)
  const { status, fault } = await awaitOperation(operating.id, ports)
  if (status === 'failed') throw operationFailedError(fault)
  return answerEndOfJournal(call, DEMOTED)
}

const DEMOTED =
  'this cluster has become a DR secondary without a primary, with a short interruption, and serves no clients; promote a secondary that has reached final_wal, and give this cluster a token of the new primary by POST sys/replication/dr/secondary/update-primary'
const ALREADY =
  'this cluster was already demoted, or has handed over to another cluster: nothing has changed; give this cluster a token of the new primary by POST sys/replication/dr/secondary/update-primary'

/**
 * Returns the end position of the demoted cluster's journal. The operator compares this end with `last_remote_wal`
 * of the secondary to promote.
 */
async function answerEndOfJournal({ ports }: Call, warning: string): Promise<CallOutcome> {
  const { last = 0, epoch = '' } = (await ports.journal.head()) ?? {}
  return { answer: { kind: 'data', data: { final_wal: last, epoch }, warnings: [warning] } }
}
