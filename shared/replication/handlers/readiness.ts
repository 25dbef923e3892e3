import { answer, type Call, type CallOutcome, dataAnswer } from '../../api/call.ts'
import type { JournalHead } from '../../journal/head.ts'
import { listSecondaries } from '../../link/admin/secondaries.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { type AddressRules, normaliseMemberAddress } from '../../values/member-address.ts'
import { formatTime } from '../../values/time.ts'
import type { CreateLinkCarrier } from '../../wire/carry.ts'
import { isTreeCorrupted } from '../check/corrupted.ts'
import { notInASetError, roleChangingError } from '../operation/refusals.ts'
import { type PromotionCheckResult, type PromotionFacts, runPromotionChecks } from '../promotion/decide.ts'
import { gatherPromotionFacts, tryOwnKeyring } from '../promotion/facts.ts'
import { describeKeyringTest, describeOwnCluster } from '../readiness/gather.ts'
import { planPromotion } from '../readiness/plan.ts'
import { readPromotionPreparation } from '../readiness/preparation.ts'
import { checkPlannedSwitch, describeSwitchSteps, findSuccessorFault } from '../readiness/switch-checks.ts'
import { createPeerConnector } from '../secondary/connect.ts'
import { listLagHistory } from '../secondary/lag-history.ts'

/** Milliseconds to wait for the primary at each call. The request must end before API Gateway's timeout. */
const READINESS_TIMEOUT_MS = 6000

/** Handles GET sys/replication/dr/readiness: checks a planned switch on a primary, and a promotion on a secondary. */
export async function showReadiness(call: Call): Promise<CallOutcome> {
  const { record } = call.cluster
  if (record.mode === 'secondary') return showSecondaryReadiness(call)
  if (record.mode === 'primary') return answer(dataAnswer(await primaryReadiness(call, record)))
  throw notInASetError()
}

/**
 * Handles POST sys/replication/dr/secondary/readiness: checks whether a promotion would succeed now, and lists the
 * steps of that promotion. Writes nothing here; the primary stores a heartbeat.
 */
export async function showSecondaryReadiness(call: Call): Promise<CallOutcome> {
  return answer(dataAnswer(await secondaryReadiness(call, call.cluster.record)))
}

async function secondaryReadiness(call: Call, record: ClusterRecord) {
  const { ports, now } = call
  const connect = createPeerConnector(withShortTimeout(ports.carryTo), ports)
  const facts = await gatherPromotionFacts(
    { ports, connect, deadline: now + 3 * READINESS_TIMEOUT_MS },
    record,
  )
  const [own, operation_token, contact, head] = await Promise.all([
    describeOwnCluster(call),
    readPromotionPreparation(call, record.mode),
    ports.store.read([key('contact')]).then(([item]) => item?.data),
    ports.journal.head(),
  ])
  const planning = { facts: { ...facts, head }, record, lastKnownEpoch: contact?.epoch }
  const changing = describeRoleChange(record)
  const promotion = withChanging(planPromotion(planning, { force: false }), changing)
  return {
    mode: record.mode,
    ready: promotion.goes_through,
    cluster_id: record.set ?? '',
    checks: [...changingRow(changing), ...runPromotionChecks(facts).map(shownCheck)],
    promotion,
    promotion_with_force: withChanging(planPromotion(planning, { force: true }), changing),
    keyring: describeKeyringTest(facts.keyring, record.term),
    lag: {
      ...lagOf(facts, head),
      history: (contact ? listLagHistory(contact) : []).map(({ at, lag }) => ({
        time: formatTime(at),
        age_ms: lag,
      })),
    },
    tree: { corrupted: facts.corrupted, reindexing: facts.reindexing },
    operation_token,
    ...own,
    versions: {
      ...own.versions,
      primary_format: facts.primary.state === 'answers' ? facts.primary.format : null,
    },
  }
}

const withChanging = <P extends { goes_through: boolean }>(plan: P, changing: string | undefined): P =>
  changing === undefined ? plan : { ...plan, goes_through: false, refused: changing, warnings: [], steps: [] }

/** Returns why no role change can begin now; undefined if a role change can begin. */
const describeRoleChange = ({ operation }: ClusterRecord): string | undefined =>
  operation === undefined ? undefined : roleChangingError().message

const changingRow = (changing: string | undefined) => [
  shownCheck({
    name: 'role-change',
    code: 'busy',
    overridden: false,
    ...(changing === undefined ? {} : { text: changing }),
  }),
]

const shownCheck = ({ name, overridden, text }: PromotionCheckResult) => ({
  name,
  passes: text === undefined,
  text: text ?? '',
  overridden_by_force: text !== undefined && overridden,
})

function lagOf({ primary, now }: PromotionFacts, head: JournalHead | undefined) {
  const { last = 0, applied = 0, epoch = '' } = head ?? {}
  const common = { epoch, received: last, applied: applied, primary: primary.state }
  if (primary.state === 'silent')
    return {
      ...common,
      ...(primary.lastAnswerAt !== undefined && {
        last_contact: formatTime(primary.lastAnswerAt),
        last_contact_age_ms: now - primary.lastAnswerAt,
      }),
    }
  if (primary.state === 'refuses') return { ...common, text: primary.text }
  if (primary.state === 'none') return common
  return {
    ...common,
    ...(primary.lag === 'diverged' ? { text: 'the journals have diverged' } : { behind_ms: primary.lag }),
    last_contact: formatTime(now),
    last_contact_age_ms: 0,
    ...(primary.reported && {
      primary_position: primary.reported.seq,
      primary_frontier: primary.reported.frontier,
      clock_skew_ms: primary.reported.skew,
    }),
  }
}

/** Limits the timeout of each call to the primary. */
const withShortTimeout =
  (carryTo: CreateLinkCarrier): CreateLinkCarrier =>
  to => {
    const carry = carryTo(to)
    return (method, call, timeoutMs) => carry(method, call, Math.min(timeoutMs, READINESS_TIMEOUT_MS))
  }

async function primaryReadiness(call: Call, record: ClusterRecord) {
  const { ports, now } = call
  const [keyring, head, listed, [check, reindex, diverging], own, operation_token] = await Promise.all([
    tryOwnKeyring(ports, record),
    ports.journal.head(),
    ports.store.list(itemPartitions('secondary')),
    ports.store.read([key('tree-check'), key('tree-reindex'), key('diverging')]),
    describeOwnCluster(call),
    readPromotionPreparation(call, record.mode),
  ])
  const known = await Promise.all(
    listSecondaries(listed, record).map(async one => ({
      ...one,
      lag: await lagAtHeartbeat(call, head, one),
    })),
  )
  const changing = describeRoleChange(record)
  const facts = { head, built: record.treeComplete !== false, keyring, secondaries: known }
  const checks = [...changingRow(changing), ...checkPlannedSwitch(facts, now).map(shownCheck)]
  return {
    mode: record.mode,
    ready: checks.every(({ passes }) => passes),
    cluster_id: record.set ?? '',
    checks,
    planned_switch: describeSwitchSteps(facts),
    keyring: describeKeyringTest(keyring, record.term),
    position: { epoch: head?.epoch ?? '', last: head?.last ?? 0 },
    secondaries: known.map(one => successorOf(one, head, call)),
    tree: {
      corrupted: isTreeCorrupted(record, check, diverging),
      reindexing: record.treeComplete === false || isUnderWay(reindex?.data.stage),
    },
    operation_token,
    ...own,
  }
}

const isUnderWay = (stage: string | undefined): boolean =>
  stage !== undefined && stage !== 'done' && stage !== 'failed'

/**
 * Returns the age of the oldest position that a secondary had not applied at its last heartbeat, milliseconds; 0 if
 * the secondary had applied every position.
 */
async function lagAtHeartbeat(
  { ports }: Call,
  head: JournalHead | undefined,
  { heartbeat }: Pick<Secondary, 'heartbeat'>,
): Promise<number> {
  if (!head || !heartbeat || heartbeat.epoch !== head.epoch || heartbeat.seq >= head.last) return 0
  const [entry] = await ports.journal.entries(head.lineage, heartbeat.seq, heartbeat.seq + 1)
  return entry ? Math.max(0, heartbeat.at - entry.at) : 0
}

function successorOf(
  one: Secondary & { lag: number },
  head: JournalHead | undefined,
  { now, ports }: { now: number; ports: { deployment: AddressRules } },
) {
  const address = normaliseMemberAddress(one.address, ports.deployment) ?? ''
  const { id, expires, version, heartbeat, activatedAt, createdAt } = one
  const fault = findSuccessorFault(one, head ?? { epoch: '' }, now)
  return {
    id,
    address,
    version,
    takes_over: fault === '',
    text: fault,
    activation_token: {
      age_seconds: Math.floor((now - createdAt) / 1000),
      used: activatedAt !== undefined,
      expired: activatedAt === undefined && expires <= now,
      expires: formatTime(expires),
    },
    ...(heartbeat && {
      state: heartbeat.state,
      applied: heartbeat.seq,
      clock_skew_ms: heartbeat.skewMs,
      behind: Math.max(0, (head?.last ?? heartbeat.seq) - heartbeat.seq),
      behind_ms: one.lag,
      last_heartbeat: formatTime(heartbeat.at),
    }),
  }
}
