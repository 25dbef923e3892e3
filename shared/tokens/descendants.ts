import { commitEach, countOutcomes, type IndependentChanges } from '../jobs/commit-each.ts'
import { isMounted, type MountTable } from '../model/mount.ts'
import { isExpired, type Token } from '../model/token.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import { type Change, removeIfUnchanged, replace } from '../storage/changes.ts'
import { type Item, key, partitions } from '../storage/kinds.ts'

/** How deep a hierarchy of tokens may be: every use of a token walks up to its first ancestor. */
export const DEEPEST_HIERARCHY = 32

/** What a token and its ancestors are judged with. */
export interface TokenDependencies {
  ports: Pick<Ports, 'store' | 'clock'>
  mounts: MountTable
}

/** Whether a token has neither expired nor lost the mount whose login made it. */
export function isAlive(token: Readonly<Token>, { ports, mounts }: TokenDependencies): boolean {
  return !isExpired(token, ports.clock.now()) && (token.mount === undefined || isMounted(mounts, token.mount))
}

/** What a token remembers of its parent. */
type Child = Readonly<Pick<Token, 'parent' | 'parentCreatedAt'>>

/** Whether what stands at a child's parent's place is its parent, not somebody who chose the same id later. */
const isParentOf = (child: Child, there: Readonly<Token> | undefined): boolean =>
  there !== undefined && (child.parentCreatedAt === undefined || child.parentCreatedAt === there.createdAt)

/** Whether every ancestor of a token still lives: a token dies with its parent, at once. */
export async function areAncestorsAlive(token: Child, dependencies: TokenDependencies): Promise<boolean> {
  let child = token
  for (let depth = 0; child.parent !== undefined; depth++) {
    const [item] = await dependencies.ports.store.read([key('token', child.parent)])
    if (
      !item ||
      depth > DEEPEST_HIERARCHY ||
      !isParentOf(child, item.data) ||
      !isAlive(item.data, dependencies)
    )
      return false
    child = item.data
  }
  return true
}

/** A token that lives together with its ancestors; undefined otherwise. */
export async function readLiveToken(
  accessor: string,
  dependencies: TokenDependencies,
): Promise<Item<'token'> | undefined> {
  const [item] = await dependencies.ports.store.read([key('token', accessor)])
  return item && isAlive(item.data, dependencies) && (await areAncestorsAlive(item.data, dependencies))
    ? item
    : undefined
}

/** A pointer to a child, and the child; nobody where the child is gone, or its id has been chosen by others. */
interface Led {
  pointer: Item<'child'>
  child?: Item<'token'>
}

async function childrenOf(accessor: string, { store }: Pick<Ports, 'store'>): Promise<Led[]> {
  const pointers = await store.list(partitions('child', accessor))
  const found = await store.read(pointers.map(pointer => key('token', pointer.sk)))
  return pointers.map((pointer, index) => {
    const child = found[index]
    return child?.data.parent === accessor ? { pointer, child } : { pointer }
  })
}

const removalOf = ({ pointer, child }: Led): IndependentChanges => [
  ...(child ? [removeIfUnchanged(child)] : []),
  removeIfUnchanged(pointer),
]

/**
 * Removes the descendants of a token that is gone. They are dead already, for they have lost an ancestor; this
 * frees their places. Who lives is left alone, whatever points at it. Stops at the deadline: tidy removes the rest.
 * @param eldest `dead`: the token is dead, although it may still be stored
 */
export async function sweepDescendants(
  accessor: string,
  ports: Pick<Ports, 'store' | 'clock'>,
  cluster: () => Promise<ClusterRead>,
  deadline: number,
  eldest: 'dead' | 'gone' = 'gone',
): Promise<number> {
  let removed = 0
  const waiting = [accessor]
  for (let next = waiting.pop(); next !== undefined && ports.clock.now() < deadline; next = waiting.pop()) {
    const children = await childrenOf(next, ports)
    // read after the children: who was made again before them is seen
    const [there] = eldest === 'dead' && next === accessor ? [] : await ports.store.read([key('token', next)])
    const dead = children.filter(({ child }) => !child || !isParentOf(child.data, there?.data))
    const outcomes = await commitEach({ ports, cluster, deadline }, dead.map(removalOf))
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') throw outcome.reason
      if (outcome.value === 'done') waiting.push(dead[index]?.pointer.sk ?? '')
    }
    removed += countOutcomes(outcomes).done
  }
  return removed
}

/**
 * Makes orphans of a token's children, before the token goes: they survive it. A child that is renewed or used
 * meanwhile is tried again.
 * @returns whether no child is left
 */
export async function orphanChildren(
  parent: Item<'token'>,
  accessor: string,
  ports: Pick<Ports, 'store' | 'clock'>,
  cluster: ClusterRead,
): Promise<boolean> {
  const results: ('done' | 'conflict')[] = []
  for (const { pointer, child } of await childrenOf(accessor, ports)) {
    if (child && !isParentOf(child.data, parent.data)) continue
    const changes = [...(child ? [orphaned(child)] : []), removeIfUnchanged(pointer)]
    results.push(await ports.store.commit(changes, cluster))
  }
  return results.every(result => result === 'done')
}

function orphaned(item: Item<'token'>): Change {
  const { parent: _, parentCreatedAt: __, ...orphan } = item.data
  return replace(item, item, orphan, item.expires === undefined ? {} : { expires: item.expires })
}
