import { type ChangeGroup, commitEachGroup, countGroupOutcomes } from '../jobs/commit-each.ts'
import { isMountedAccessor, type MountTable } from '../model/mount.ts'
import { isTokenExpired, type Token } from '../model/token.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import { type Change, removeItemIfUnchanged, replaceItem } from '../storage/changes.ts'
import { type Item, itemPartitions, key } from '../storage/kinds.ts'
import { extendRecord, isInstanceOfTokenGone } from './instance-mark.ts'

/** Maximum depth of a token hierarchy, because every use of a token checks all its ancestors. */
export const MAX_TOKEN_DEPTH = 32

/** The inputs for checking a token and its ancestors. */
export interface TokenDependencies {
  ports: Pick<Ports, 'store' | 'clock'>
  mounts: MountTable
}

/** Reports whether a token is unexpired and its mount still exists. */
export function isTokenAlive(token: Readonly<Token>, { ports, mounts }: TokenDependencies): boolean {
  return (
    !isTokenExpired(token, ports.clock.now()) &&
    (token.mount === undefined || isMountedAccessor(mounts, token.mount))
  )
}

/** A token's reference to its parent. */
type Child = Readonly<Pick<Token, 'parent' | 'parentCreatedAt'>>

/** Reports whether the stored token is the child's parent, and not a later token with the same chosen ID. */
const isParentOf = (child: Child, there: Readonly<Token> | undefined): boolean =>
  there !== undefined && (child.parentCreatedAt === undefined || child.parentCreatedAt === there.createdAt)

/** Reports whether every ancestor of a token is still valid. Revoking a token invalidates its descendants at once. */
export async function areTokenAncestorsAlive(
  token: Child,
  dependencies: TokenDependencies,
): Promise<boolean> {
  let child = token
  for (let depth = 0; child.parent !== undefined; depth++) {
    const [item] = await dependencies.ports.store.read([key('token', child.parent)])
    if (
      !item ||
      depth > MAX_TOKEN_DEPTH ||
      !isParentOf(child, item.data) ||
      !isTokenAlive(item.data, dependencies)
    )
      return false
    child = item.data
  }
  return true
}

/** Reads a token; undefined unless the token, its instance and all its ancestors are valid. */
export async function readLiveToken(
  accessor: string,
  dependencies: TokenDependencies,
): Promise<Item<'token'> | undefined> {
  const [item] = await dependencies.ports.store.read([key('token', accessor)])
  return item &&
    isTokenAlive(item.data, dependencies) &&
    !(await isInstanceOfTokenGone(item.data, dependencies.ports)) &&
    (await areTokenAncestorsAlive(item.data, dependencies))
    ? item
    : undefined
}

/**
 * A parent index entry, and the child that it names; `child` is absent if the child is gone or another token has
 * its ID.
 */
interface Led {
  pointer: Item<'child'>
  child?: Item<'token'>
}

async function childrenOf(accessor: string, { store }: Pick<Ports, 'store'>): Promise<Led[]> {
  const pointers = await store.list(itemPartitions('child', accessor))
  const found = await store.read(pointers.map(pointer => key('token', pointer.sk)))
  return pointers.map((pointer, index) => {
    const child = found[index]
    return child?.data.parent === accessor ? { pointer, child } : { pointer }
  })
}

const removalOf = ({ pointer, child }: Led): ChangeGroup => [
  ...(child ? [removeItemIfUnchanged(child)] : []),
  removeItemIfUnchanged(pointer),
]

/**
 * Removes the descendants of a revoked token and their index entries. The descendants are already invalid, so the
 * removal only frees storage. The sweep keeps valid tokens, even if an index entry names them. Stops at the
 * deadline; tidy removes the rest.
 * @param eldest `dead`: the token is invalid but may still be stored
 */
export async function revokeDescendants(
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
    // the parent must be read after the children, so that a token recreated before them is noticed
    const [there] = eldest === 'dead' && next === accessor ? [] : await ports.store.read([key('token', next)])
    const dead = children.filter(({ child }) => !child || !isParentOf(child.data, there?.data))
    const outcomes = await commitEachGroup({ ports, cluster, deadline }, dead.map(removalOf))
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') throw outcome.reason
      if (outcome.value === 'done') waiting.push(dead[index]?.pointer.sk ?? '')
    }
    removed += countGroupOutcomes(outcomes).done
  }
  return removed
}

/**
 * Turns a token's children into orphans before the token is revoked. A child that is renewed or used at the same time causes a
 * conflict, and the caller retries.
 * @returns whether no child is left
 */
export async function orphanChildTokens(
  parent: Item<'token'>,
  accessor: string,
  ports: Pick<Ports, 'store' | 'clock'>,
  cluster: ClusterRead,
): Promise<boolean> {
  const results: ('done' | 'conflict')[] = []
  for (const { pointer, child } of await childrenOf(accessor, ports)) {
    if (child && !isParentOf(child.data, parent.data)) continue
    const changes = [...(child ? await orphaned(child, ports) : []), removeItemIfUnchanged(pointer)]
    results.push(await ports.store.commit(changes, cluster))
  }
  return results.every(result => result === 'done')
}

/** Returns the changes that make a token an orphan. It still ends with the instance of its former parent. */
async function orphaned(item: Item<'token'>, ports: Pick<Ports, 'store'>): Promise<Change[]> {
  const { parent: _, parentCreatedAt: __, ...orphan } = item.data
  const times = item.expires === undefined ? {} : { expires: item.expires }
  return [replaceItem(item, item, orphan, times), ...(await extendRecord(orphan, ports))]
}
