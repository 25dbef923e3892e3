import type { FoundStack, ProveCloud, StackResource } from './cloud.ts'
import type { ProveJournal } from './journal.ts'
import { deleteNamespaceOfRun, type KubernetesAccess } from './kubernetes.ts'
import { nameInRun, type ProveItem, type ProvePart, RUN_TAG, stackNameInRun } from './names.ts'
import { pollDelay, type TeardownClock } from './pace.ts'
import { KEY_DAYS } from './templates.ts'

/** Decision of a teardown about a stack. */
type TeardownAction = 'delete' | 'forget' | 'keep'

/**
 * Decides what a teardown does with a stack of the journal. A stack without the run's tag belongs to somebody else,
 * although the journal has its name.
 */
function decideTeardown(run: string, found: FoundStack | undefined): TeardownAction {
  if (found === undefined) return 'forget'
  return found.tags[RUN_TAG] === run ? 'delete' : 'keep'
}

/** Returns the order of deletion: each item before the items that it needs. */
const orderTeardown = (remaining: readonly ProveItem[]): ProveItem[] => remaining.toReversed()

/** A resource that is left after a teardown. */
export interface Remains {
  what: string
  why: string
  /** date on which AWS deletes it; absent: it stays */
  ends?: string
}

export interface TeardownPorts extends TeardownClock {
  /** the account in the region of a stack */
  cloudOf(part: ProvePart): ProveCloud
  /** opens the Kubernetes API of the run's EKS cluster. @returns undefined if the cluster does not exist any more */
  findKubernetes(): Promise<KubernetesAccess | undefined>
  journal: ProveJournal
  say(text: string): void
}

const DELETE_LIMIT_MS = 15 * 60_000
const ATTEMPTS = 2
const DAY_MS = 86_400_000

/** Waits until a stack is deleted, or its deletion has failed. @returns the last state of the stack */
async function awaitDeletion(
  name: string,
  cloud: ProveCloud,
  { sleep, now }: TeardownClock,
): Promise<FoundStack | undefined> {
  const end = now() + DELETE_LIMIT_MS
  for (let tries = 0; ; tries++) {
    const found = await cloud.findStack(name)
    if (found === undefined || found.status === 'DELETE_FAILED' || now() > end) return found
    await sleep(pollDelay(tries))
  }
}

type DeletionPorts = Omit<TeardownPorts, 'journal'>

/** Deletes a stack if it has the run's tag. @returns why the stack is left, or undefined */
async function deleteStackOfRun(
  run: string,
  part: ProvePart,
  ports: DeletionPorts,
): Promise<string | undefined> {
  const cloud = ports.cloudOf(part)
  const name = stackNameInRun(run, part)
  for (let attempt = 1; ; attempt++) {
    const found = await cloud.findStack(name)
    const action = decideTeardown(run, found)
    if (action === 'forget') return undefined
    if (action === 'keep') return `the stack does not have the tag ${RUN_TAG}=${run}`
    if (part.endsWith('assets') && found?.outputs['Bucket']) await cloud.emptyBucket(found.outputs['Bucket'])
    await cloud.deleteStack(name)
    const left = await awaitDeletion(name, cloud, ports)
    if (left === undefined) return undefined
    if (attempt >= ATTEMPTS) return (await cloud.findStackFailure(name)) ?? left.status
  }
}

/** Deletes what a run made, if it has the run's tag or label. @returns why it is left, or undefined */
export async function deleteItemOfRun(
  run: string,
  item: ProveItem,
  ports: DeletionPorts,
): Promise<string | undefined> {
  ports.say(`deleting ${describeItem(run, item)}`)
  return item === 'namespace'
    ? deleteNamespaceOfRun(run, await ports.findKubernetes(), ports)
    : deleteStackOfRun(run, item, ports)
}

/** Returns the name of something that a run made, for a person. */
export const describeItem = (run: string, item: ProveItem): string =>
  `${item === 'namespace' ? 'the namespace ' : ''}${nameInRun(run, item)}`

/** Lists the keys of a stack, which KMS deletes some days after the stack. */
const keysOf = (resources: readonly StackResource[], now: number): Remains[] =>
  resources
    .filter(one => one.type === 'AWS::KMS::Key' && one.physicalId !== '')
    .map(one => ({
      what: `KMS key ${one.physicalId}`,
      why: `KMS deletes a key after ${KEY_DAYS} days`,
      ends: new Date(now + KEY_DAYS * DAY_MS).toISOString().slice(0, 10),
    }))

/** Lists the resources of a stack with keys, which the report names after the stack's deletion. */
const listKeyedResources = async (
  run: string,
  item: ProveItem,
  { cloudOf }: TeardownPorts,
): Promise<StackResource[]> => {
  if (item === 'namespace' || !item.endsWith('data')) return []
  return cloudOf(item)
    .listStackResources(stackNameInRun(run, item))
    .catch(() => [])
}

/**
 * Deletes each item that the journal of a run names, if the item has the run's tag or label. An item that cannot be
 * deleted does not stop the teardown of the others. The journal is deleted once nothing is left.
 * @returns what is left
 */
export async function tearDownRun(
  run: string,
  remaining: readonly ProveItem[],
  ports: TeardownPorts,
): Promise<Remains[]> {
  const { journal } = ports
  const remains: Remains[] = []
  let isComplete = true
  for (const item of orderTeardown(remaining)) {
    try {
      const resources = await listKeyedResources(run, item, ports)
      const why = await deleteItemOfRun(run, item, ports)
      if (why !== undefined) throw new Error(why)
      journal.removed(item)
      remains.push(...keysOf(resources, ports.now()))
    } catch (error) {
      isComplete = false
      const kind = item === 'namespace' ? item : 'stack'
      remains.push({ what: `${kind} ${nameInRun(run, item)}`, why: (error as Error).message })
    }
  }
  if (isComplete) journal.end()
  return remains
}
