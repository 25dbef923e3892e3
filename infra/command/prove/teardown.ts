import type { FoundStack, ProveCloud, StackResource } from './cloud.ts'
import type { ProveJournal } from './journal.ts'
import { type ProvePart, RUN_TAG, stackNameInRun } from './names.ts'
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

/** Returns the order in which stacks are deleted: each stack before the stacks that it needs. */
const orderTeardown = (remaining: readonly ProvePart[]): ProvePart[] => remaining.toReversed()

/** A resource that is left after a teardown. */
export interface Remains {
  what: string
  why: string
  /** date on which AWS deletes it; absent: it stays */
  ends?: string
}

export interface TeardownPorts {
  /** the account in the region of a stack */
  cloudOf(part: ProvePart): ProveCloud
  journal: ProveJournal
  say(text: string): void
  /** waits, and is not ended by signals */
  sleep(ms: number): Promise<void>
  /** epoch milliseconds */
  now(): number
}

const DELETE_LIMIT_MS = 15 * 60_000
const ATTEMPTS = 2
const DAY_MS = 86_400_000

/** Waits of a poll: short at first, because many stacks take seconds. */
export const pollDelay = (tries: number): number => Math.min(5000, 500 * 2 ** tries)

/** Waits until a stack is deleted, or its deletion has failed. @returns the last state of the stack */
async function awaitDeletion(
  name: string,
  cloud: ProveCloud,
  { sleep, now }: Pick<TeardownPorts, 'sleep' | 'now'>,
): Promise<FoundStack | undefined> {
  const end = now() + DELETE_LIMIT_MS
  for (let tries = 0; ; tries++) {
    const found = await cloud.findStack(name)
    if (found === undefined || found.status === 'DELETE_FAILED' || now() > end) return found
    await sleep(pollDelay(tries))
  }
}

/** Deletes a stack if it has the run's tag. @returns why the stack is left, or undefined */
export async function deleteStackOfRun(
  run: string,
  part: ProvePart,
  ports: Omit<TeardownPorts, 'journal'>,
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

/** Lists the keys of a stack, which KMS deletes some days after the stack. */
const keysOf = (resources: readonly StackResource[], now: number): Remains[] =>
  resources
    .filter(one => one.type === 'AWS::KMS::Key' && one.physicalId !== '')
    .map(one => ({
      what: `KMS key ${one.physicalId}`,
      why: `KMS deletes a key after ${KEY_DAYS} days`,
      ends: new Date(now + KEY_DAYS * DAY_MS).toISOString().slice(0, 10),
    }))

/**
 * Deletes the stacks that the journal of a run names and that have the run's tag. A stack that cannot be deleted does not stop
 * the teardown of the others. The journal is deleted once no stack is left.
 * @returns what is left
 */
export async function tearDownRun(
  run: string,
  remaining: readonly ProvePart[],
  ports: TeardownPorts,
): Promise<Remains[]> {
  const { journal, say, now } = ports
  const remains: Remains[] = []
  let isComplete = true
  for (const part of orderTeardown(remaining)) {
    const name = stackNameInRun(run, part)
    say(`deleting ${name}`)
    try {
      const cloud = ports.cloudOf(part)
      const resources = part.endsWith('data') ? await cloud.listStackResources(name).catch(() => []) : []
      const why = await deleteStackOfRun(run, part, ports)
      if (why !== undefined) throw new Error(why)
      journal.removed(part)
      remains.push(...keysOf(resources, now()))
    } catch (error) {
      isComplete = false
      remains.push({ what: `stack ${name}`, why: (error as Error).message })
    }
  }
  if (isComplete) journal.end()
  return remains
}
