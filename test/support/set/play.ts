import { treeBucketOf, treeBucketText } from '../../../shared/journal/tree.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { type Game, gameActions } from './actions.ts'
import { chanceFrom, seededEntropy } from './chance.ts'
import { invariants } from './checks/all.ts'
import { type History, type Violation, violationsIn } from './history.ts'
import type { SetMember } from './member.ts'
import { setInOrder } from './operator.ts'
import { type ClusterSet, clusterSet, type SetOptions } from './set.ts'
import type { SetSnapshot } from './snapshot.ts'
import { checkKeys } from './thefts.ts'

export const NAMES = ['east', 'west', 'north'] as const

/** The time at which every game begins, in epoch milliseconds. */
const START = 1_800_000_000_000

/** Maximum milliseconds between two actions, and between two runs of a worker. */
const BETWEEN_MS = 90
const ROUND_MS = 1500

/** The result of a game. */
export interface Played {
  seed: number
  /** the actions of the game, in their order */
  acts: readonly string[]
  violations: readonly Violation[]
  history: History
}

/** Returns a snapshot of a primary and its up-to-date secondaries, from which games begin. */
export async function warmSnapshot({
  memory = false,
  names = NAMES as readonly string[],
} = {}): Promise<Warm> {
  const set = await clusterSet(names, { memory, start: START, entropy: seededEntropy(chanceFrom(0)) })
  await set.enable('east')
  for (const name of names) if (name !== 'east') await set.join(name, 'east')
  await set.at('east').ok('POST', '/sys/policies/acl/operator', { policy: OPERATOR })
  const { body } = await set
    .at('east')
    .ok('POST', '/auth/token/create', { type: 'batch', policies: ['operator'], no_parent: true, ttl: '700h' })
  for (const name of policyNames)
    await set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: 'path "a" {}' })
  await set.converge()
  const snapshot = await set.snapshot()
  await set.drop()
  return { ...snapshot, operator: body.auth.client_token }
}

/** The policy that operators prepare before a disaster. */
const OPERATOR = 'path "sys/replication/dr/secondary/*" { capabilities = ["update", "create"] }'

/** The clusters at the beginning of a game, and a token for operations on secondaries. */
export type Warm = SetSnapshot & { operator: string }

/** Names of policies: two policies share a bucket, and the third is in another bucket. */
const policyNames = ((): string[] => {
  const seen = new Map<string, string>()
  for (let index = 0; ; index++) {
    const name = `p${index}`
    const bucket = treeBucketText(treeBucketOf('', 'policy', 'policy', name))
    const other = seen.get(bucket)
    if (other !== undefined) return [other, name, 'apart']
    seen.set(bucket, name)
  }
})()

/**
 * Plays a game: random actions on three clusters, all calls of all processes one after the other in a random
 * order. After the actions, all faults are mended, and the clusters must come to rest.
 * @param from see `warmSnapshot`
 * @param how `length`: number of actions
 */
export async function play(
  seed: number,
  from: Warm,
  { length, ...how }: { length: number } & Pick<SetOptions, 'memory' | 'broken'>,
): Promise<Played> {
  const random = chanceFrom(seed)
  const set = await clusterSet(NAMES, {
    from,
    random,
    entropy: seededEntropy(random),
    aws: true,
    ...how,
  })
  const game = gameOf(set, random, from.operator)
  const acts: string[] = []
  const violations: Violation[] = []
  let over = false
  const stop = daemons(game, () => over)
  for (let count = 0; count < length; count++) {
    await set.clock.sleep(game.int(BETWEEN_MS))
    const name = anyAction(game)
    acts.push(name)
    set.start(async () => gameActions[name]?.act(game))
  }
  over = true
  set.mend()
  await stop
  try {
    await setInOrder(game)
    // the set must still replicate: current writes arrive on all clusters
    for (const primary of game.primaries())
      await primary.ok('POST', '/sys/policies/acl/after', { policy: OPERATOR })
    await set.converge()
    for (const one of set.members) await opened(one)
    for (const primary of game.primaries()) await checkKeys(game, primary)
    await set.converge()
    set.recording.rest(NAMES)
  } catch (error) {
    violations.push({ rule: 'rest', text: String(error), index: set.recording.history.length })
  }
  violations.push(...game.faults.map(text => ({ rule: 'thief', text, index: set.recording.history.length })))
  violations.push(...violationsIn(set.recording.history, invariants))
  await set.drop()
  return { seed, acts, violations, history: set.recording.history }
}

/** Decrypts encrypted texts with the keys of a cluster. @throws when a text cannot be decrypted */
async function opened({ name, ports: { store, cipher } }: SetMember): Promise<void> {
  const found = await store.read([key('mounts'), key('cluster')])
  const [mounts, record] = found
  const accessor = mounts?.data.mounts[0]?.accessor ?? ''
  const [config] = await store.read([key('client-config', accessor)])
  if (record) cipher.expectKeyring(record.data)
  const { secretKey } = config?.data ?? {}
  if (!config || secretKey === undefined) return
  await cipher.decrypt(config, 'secretKey', secretKey).catch((cause: unknown) => {
    throw new Error(`${name} cannot read what is encrypted`, { cause })
  })
}

function gameOf(set: ClusterSet, random: () => number, operator: string): Game {
  const int = (n: number) => Math.floor(random() * n)
  let ids = 0
  const isPrimary = ({ name }: SetMember) => {
    const { record, head } = set.recording.world.get(name) ?? {}
    return record?.mode === 'primary' && head?.mode === 'writing'
  }
  return {
    set,
    int,
    operator,
    names: NAMES,
    tokens: [],
    policies: policyNames,
    forgeries: [],
    faults: [],
    shares: [{ threshold: 3, shares: set.at(NAMES[0]).shares }],
    newId: () => `n${ids++}`,
    chance: of => random() < of,
    pick: list => list[int(list.length)] as never,
    primaries: () => set.members.filter(isPrimary),
    others: () => set.members.filter(one => !isPrimary(one)),
  }
}

function anyAction({ int }: Game): string {
  const rows = Object.entries(gameActions)
  let left = int(rows.reduce((sum, [, { weight }]) => sum + weight, 0))
  for (const [name, { weight }] of rows) {
    left -= weight
    if (left < 0) return name
  }
  throw new Error('weights are not numbers')
}

/**
 * Runs the workers of all clusters again and again. Ends when the game is over and all workers have ended.
 */
async function daemons({ set, int }: Game, isOver: () => boolean): Promise<void> {
  const again = async (work: () => Promise<void>) => {
    while (!isOver()) {
      await set.clock.sleep(int(ROUND_MS))
      await work().catch(() => undefined)
    }
  }
  await Promise.all(set.members.flatMap(one => [again(() => one.minute()), again(() => one.pull())]))
}
