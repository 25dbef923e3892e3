import type { AlwaysServedCall, EarlyCall } from '../../api/call.ts'
import { type JournalAndTreeView, prefetchJournalView, readJournalView } from '../../api/early-look.ts'
import { parsePosition } from '../../journal/position.ts'
import { hashWholeTreeRoot } from '../../journal/tree.ts'
import type { KnownTermHolders } from '../../link/admin/holders.ts'
import { listSecondaries } from '../../link/admin/secondaries.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import { type FaultyPart, faultyParts, type RecentFault } from '../../model/fault.ts'
import { type FenceRecord, newestEntryTime, type PrimaryContact } from '../../model/link.ts'
import type { ReindexProgress } from '../../model/reindex.ts'
import type { DivergingKeys, PullerState, ReadinessTest } from '../../model/secondary.ts'
import type { TreeCheck, TreeReindex } from '../../model/tree-work.ts'
import type { Ports } from '../../ports.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import {
  type AddressRules,
  normaliseMemberAddress,
  normaliseMemberAddresses,
} from '../../values/member-address.ts'
import { describeReadinessBasis } from '../readiness/basis.ts'
import { divergingKeysOf, isDivergingKeyGivenUp, shortKeyName } from '../secondary/diverging.ts'
import { showTermHolders } from './shown-terms.ts'
import type { JournalFacts, OperationFacts, ShownFence, StatusFacts } from './status.ts'

/** Reads the items for status and the journal head together with the request's first read. */
export const prepareDrStatus = async ({ ports }: Pick<EarlyCall, 'ports'>) => ({
  keys: [
    key('contact'),
    key('puller'),
    key('reindex'),
    key('fences'),
    key('tree-check'),
    key('tree-reindex'),
    key('diverging'),
    key('readiness'),
    ...faultKeys,
    ...operationKeys(ports.memory.cluster?.record),
  ] as const,
  ...prefetchJournalView(ports, record =>
    record.mode === 'disabled' ? undefined : { treeId: record.treeId },
  ),
})

/** The items about failed parts of this cluster. */
const faultKeys = faultyParts.map(part => key('fault', part))

/** Returns the place of the running operation, or of the operation that failed last. */
const operationKeys = (record: Pick<ClusterRecord, 'operation' | 'failedOperation'> | undefined) => {
  const id = record?.operation ?? record?.failedOperation
  return id === undefined ? [] : [key('operation', id)]
}

type Looking = Pick<AlwaysServedCall, 'cluster' | 'now' | 'fetched' | 'prepared'> & {
  ports: Pick<Ports, 'store' | 'journalView' | 'deployment'>
}

/**
 * Reads the facts for the replication status. Most facts for status come with the request's first read. A primary
 * also lists its secondaries and terms, and an environment that did not know this tree reads a second time.
 */
export async function readStatusFacts(call: Looking): Promise<StatusFacts> {
  const { cluster, now, fetched, ports } = call
  const record = cluster?.record
  const operation = record && (await readOperationFacts(call, record))
  const faults = faultFacts(fetched)
  if (!record || record.mode === 'disabled') return { record, now, faults, ...defined({ operation }) }
  const isPrimary = record.mode === 'primary'
  const [seen, holders, secondaries] = await Promise.all([
    readConsistentJournal(call, record),
    isPrimary ? readKnownHolders(record, ports) : undefined,
    isPrimary ? ports.store.list(itemPartitions('secondary')) : [],
  ])
  const shown = holders && showTermHolders(holders, listSecondaries(secondaries, record), seen.head)
  const contact = fetched.get(key('contact'))?.data
  const activationError = await readActivationError(record, seen, ports)
  const rules = ports.deployment
  return {
    record: withUsable(record, rules),
    region: rules.region,
    now,
    faults,
    secondaries: (shown?.secondaries ?? []).map(one => ({
      ...one,
      address: normaliseMemberAddress(one.address, rules) ?? '',
      apiAddress: normaliseMemberAddress(one.apiAddress, rules) ?? '',
    })),
    fences: fenceFacts(record, fetched.get(key('fences'))?.data, rules),
    ...defined({
      terms: shown?.terms,
      notShown: shown?.notShown,
      journal: journalFacts(record, seen, {
        puller: fetched.get(key('puller'))?.data,
        reindex: fetched.get(key('reindex'))?.data,
        check: ofTree(fetched.get(key('tree-check')), record),
        lastReindex: ofTree(fetched.get(key('tree-reindex')), record),
        diverging: divergingIn(record, fetched.get(key('diverging'))),
      }),
      contact: contact && contactFacts(contact, seen.head, rules),
      activationError,
      readiness: readinessIn(call, record, seen.head),
      operation,
    }),
  }
}

/** Returns the last readiness trial, if role and contact have not changed since. */
function readinessIn(
  { fetched, now }: Looking,
  record: ClusterRecord,
  head: JournalAndTreeView['head'],
): ReadinessTest | undefined {
  const tried = fetched.get(key('readiness'))?.data
  const contact = fetched.get(key('contact'))?.data
  return tried?.basis === describeReadinessBasis({ record, contact, head }, now) ? tried : undefined
}

const faultFacts = (fetched: Looking['fetched']): (RecentFault & { part: FaultyPart })[] =>
  faultyParts.flatMap(part => {
    const fault = fetched.get(key('fault', part))?.data
    return fault ? [{ part, ...fault }] : []
  })

async function readKnownHolders(
  { id }: ClusterRecord,
  { store }: Looking['ports'],
): Promise<KnownTermHolders> {
  const [terms, holders] = await Promise.all([
    store.list(itemPartitions('term')),
    store.list(itemPartitions('holder')),
  ])
  return { self: id, terms, holders }
}

/**
 * Returns the journal state that matches the cluster record. A transaction changes journal head and cluster record,
 * but a batch reads them, and a batch is no transaction. Therefore the function reads a primary's head again if its
 * mode is not `writing`.
 */
async function readConsistentJournal(
  call: Looking,
  { mode, treeId }: ClusterRecord,
): Promise<JournalAndTreeView> {
  const seen = await readJournalView(call, treeId)
  return mode === 'primary' && seen.head && seen.head.mode !== 'writing'
    ? call.ports.journalView.readStatus(treeId)
    : seen
}

/**
 * Returns the running operation, or the operation that failed last. The first read guesses the operation's id from
 * the record that this environment read last; after a wrong guess the function reads the operation separately.
 */
async function readOperationFacts(
  { fetched, ports }: Looking,
  record: ClusterRecord,
): Promise<OperationFacts | undefined> {
  const [place] = operationKeys(record)
  if (!place) return undefined
  const item = fetched.has(place) ? fetched.get(place) : (await ports.store.read([place]))[0]
  if (!item) return undefined
  const isRunning = record.operation !== undefined
  return { ...item.data, id: item.sk, isRunning, ...defined({ error: item.data.fault?.text }) }
}

/**
 * Returns why the activation of the current link ended without its first sync. This reason needs another read, but
 * only on a secondary without items and without a running operation.
 */
async function readActivationError(
  { mode, treeId, link, operation: runs }: ClusterRecord,
  { head }: JournalAndTreeView,
  { store }: Looking['ports'],
): Promise<string | undefined> {
  if (mode !== 'secondary' || treeId === undefined || link?.name !== treeId || runs !== undefined)
    return undefined
  if (head?.mode !== 'syncing' || head.lineage.length > 0) return undefined
  const [operation] = await store.read([key('operation', treeId)])
  return operation?.data.fault?.text
}

/** Returns an item's data if it belongs to the cluster's current tree. */
const ofTree = <T extends { treeId: string }>(
  item: { readonly data: T } | undefined,
  { treeId }: ClusterRecord,
): T | undefined => (item?.data.treeId === treeId ? item?.data : undefined)

/** Returns the journal facts from the items that the puller, the tree jobs and the operations have stored. */
function journalFacts(
  record: ClusterRecord,
  { head, roots }: JournalAndTreeView,
  { puller, reindex, check, lastReindex, diverging }: StatusItems,
): JournalFacts | undefined {
  if (!head) return undefined
  const synced = puller?.synced ?? 0
  return {
    ...head,
    ...toRootFacts(roots),
    ...(head.mode === 'syncing' &&
      puller?.state === 'merkle-sync' && { sync: { done: synced, total: synced } }),
    ...(puller?.fault === undefined ? {} : { isStuck: true }),
    ...(record.treeComplete === false
      ? { building: buildingOf(record, reindex) }
      : reindexProgress(lastReindex)),
    ...(check?.corrupted || diverging.length > 0 ? { corrupted: true } : {}),
    ...(diverging.length > 0 ? { diverging } : {}),
    ...defined({ checkedAt: check?.checkedAt, reindexedAt: lastReindex?.finishedAt }),
  }
}

/**
 * Returns the root of the whole tree. The root of a tree of an earlier version is computed from the roots of both
 * subtrees.
 */
export function toRootFacts(
  roots: JournalAndTreeView['roots'],
): Pick<JournalFacts, 'root' | 'rootPosition' | 'rootComputedAt'> {
  if (!roots) return { root: '' }
  const { whole, replicated, local } = roots
  return {
    root: whole?.hash ?? hashWholeTreeRoot(replicated.hash, local.hash),
    rootPosition: parsePosition((whole ?? replicated).asOf).seq,
    ...defined({ rootComputedAt: whole?.at }),
  }
}

interface StatusItems {
  puller: PullerState | undefined
  reindex: ReindexProgress | undefined
  check: TreeCheck | undefined
  lastReindex: TreeReindex | undefined
  /** `diverging` has the tags of given-up keys */
  diverging: readonly string[]
}

const divergingIn = (
  { mode, treeId, link }: ClusterRecord,
  found: { readonly data: DivergingKeys } | undefined,
): readonly string[] =>
  mode === 'secondary'
    ? divergingKeysOf(found, { treeId, link: link?.name }).filter(isDivergingKeyGivenUp).map(shortKeyName)
    : []

const reindexProgress = (lastReindex: TreeReindex | undefined): Pick<JournalFacts, 'building'> => {
  if (!lastReindex || lastReindex.stage === 'done' || lastReindex.stage === 'failed') return {}
  const { stage, done, total } = lastReindex
  return { building: { stage, done, total } }
}
const fenceFacts = (
  { epoch }: ClusterRecord,
  fences: FenceRecord | undefined,
  rules: AddressRules,
): ShownFence[] =>
  fences && fences.epoch === epoch
    ? Object.entries(fences.outcomes)
        .filter(([address]) => normaliseMemberAddress(address, rules) !== undefined)
        .map(([address, outcome]) => ({ address, ...outcome }))
    : []

// An earlier version may have stored unusable addresses, which status does not show.

const withUsable = ({ link, ...record }: ClusterRecord, rules: AddressRules): ClusterRecord => ({
  ...record,
  ...(link && {
    link: {
      ...link,
      primaryAddr: normaliseMemberAddress(link.primaryAddr, rules) ?? '',
      primaryAddrs: normaliseMemberAddresses(link.primaryAddrs, rules),
    },
  }),
})

const contactFacts = (
  contact: PrimaryContact,
  head: JournalAndTreeView['head'],
  rules: AddressRules,
): StatusFacts['contact'] => {
  const { canaryAt: _, ...heard } = contact
  const canaryAt = newestEntryTime(contact, head)
  return {
    ...heard,
    addresses: normaliseMemberAddresses(contact.addresses, rules),
    ...(contact.apiAddress && { apiAddress: normaliseMemberAddress(contact.apiAddress, rules) ?? '' }),
    ...(canaryAt === 0 ? {} : { canaryAt }),
  }
}

/** Returns how many items the running job has processed. The total is that of an earlier pass, or the number so far. */
const buildingOf = (
  { treeId }: ClusterRecord,
  reindex: ReindexProgress | undefined,
): JournalFacts['building'] & {} =>
  reindex && reindex.treeId === treeId
    ? { stage: 'building', done: reindex.done, total: Math.max(reindex.total, reindex.done) }
    : { stage: 'scanning', done: 0, total: 0 }
