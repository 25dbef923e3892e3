import { isMounted, type MountTable } from '../mounts/mount.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import { type Change, erase, replace } from '../storage/changes.ts'
import { type Item, key, partitions } from '../storage/kinds.ts'
import { endOf, secondsOf, type Token } from './token.ts'

/** How deep a family of tokens may be: every use of a token walks up to its first ancestor. */
export const DEEPEST_FAMILY = 32

/** What a family is judged with. */
export interface Around {
  ports: Pick<Ports, 'store' | 'clock'>
  mounts: MountTable
}

/** Whether a token has neither expired nor lost the mount whose login made it. */
export function isAlive(token: Readonly<Token>, { ports, mounts }: Around): boolean {
  const end = endOf(token)
  return (
    (end === undefined || end > secondsOf(ports.clock.now())) &&
    (token.mount === undefined || isMounted(mounts, token.mount))
  )
}

/** Whether every ancestor of a token still lives: a token dies with its parent, at once. */
export async function ancestorsLive(
  token: Readonly<Pick<Token, 'parent'>>,
  around: Around,
): Promise<boolean> {
  let parent = token.parent
  for (let depth = 0; parent !== undefined; depth++) {
    const [item] = await around.ports.store.read([key('token', parent)])
    if (!item || depth > DEEPEST_FAMILY || !isAlive(item.data, around)) return false
    parent = item.data.parent
  }
  return true
}

/** A token that lives together with its ancestors; undefined otherwise. */
export async function livingToken(accessor: string, around: Around): Promise<Item<'token'> | undefined> {
  const [item] = await around.ports.store.read([key('token', accessor)])
  return item && isAlive(item.data, around) && (await ancestorsLive(item.data, around)) ? item : undefined
}

/** Accessors of a token's direct children. */
export const childrenOf = async (accessor: string, { store }: Pick<Ports, 'store'>): Promise<string[]> =>
  (await store.list(partitions('child', accessor))).map(item => item.sk)

/**
 * Removes the descendants of a token that is gone. They are dead already, for they have lost an ancestor; this
 * frees their places. Stops at the deadline: tidy removes the rest.
 */
export async function sweepFamily(
  accessor: string,
  ports: Pick<Ports, 'store' | 'clock'>,
  cluster: () => Promise<ClusterRead>,
  deadline: number,
): Promise<number> {
  let removed = 0
  const waiting = [accessor]
  for (let next = waiting.pop(); next !== undefined && ports.clock.now() < deadline; next = waiting.pop()) {
    for (const child of await childrenOf(next, ports)) {
      await ports.store.commit(
        [erase(key('token', child)), erase(key('child', next, child))],
        await cluster(),
      )
      waiting.push(child)
      removed += 1
    }
  }
  return removed
}

/**
 * Makes orphans of a token's children, before the token goes: they survive it. A child that is renewed or used
 * meanwhile is tried again.
 * @returns whether no child is left
 */
export async function orphanChildren(
  accessor: string,
  ports: Pick<Ports, 'store' | 'clock'>,
  cluster: ClusterRead,
): Promise<boolean> {
  const results: ('done' | 'conflict')[] = []
  for (const child of await childrenOf(accessor, ports)) {
    const pointer = erase(key('child', accessor, child))
    const [item] = await ports.store.read([key('token', child)])
    results.push(await ports.store.commit([...(item ? [orphaned(item)] : []), pointer], cluster))
  }
  return results.every(result => result === 'done')
}

function orphaned(item: Item<'token'>): Change {
  const { parent: _, ...orphan } = item.data
  return replace(item, item, orphan, item.expires === undefined ? {} : { expires: item.expires })
}
