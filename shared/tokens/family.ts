import type { ClusterRead, Ports } from '../ports.ts'
import { erase, replace } from '../storage/changes.ts'
import { type Item, key, partitions } from '../storage/kinds.ts'
import { endOf, secondsOf, type Token } from './token.ts'

/** How deep a family of tokens may be: every use of a token walks up to its first ancestor. */
export const DEEPEST_FAMILY = 32

/** Whether every ancestor of a token still lives: a token dies with its parent, at once. */
export async function ancestorsLive(
  token: Readonly<Pick<Token, 'parent'>>,
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
): Promise<boolean> {
  let parent = token.parent
  for (let depth = 0; parent !== undefined; depth++) {
    const [item] = await store.read([key('token', parent)])
    const end = item && endOf(item.data)
    if (!item || depth > DEEPEST_FAMILY || (end !== undefined && end <= secondsOf(clock.now()))) return false
    parent = item.data.parent
  }
  return true
}

/** A token that lives together with its ancestors; undefined otherwise. */
export async function livingToken(
  accessor: string,
  ports: Pick<Ports, 'store' | 'clock'>,
): Promise<Item<'token'> | undefined> {
  const [item] = await ports.store.read([key('token', accessor)])
  return item && (await ancestorsLive(item.data, ports)) ? item : undefined
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

/** Makes orphans of a token's children, before the token goes: they survive it. */
export async function orphanChildren(
  accessor: string,
  ports: Pick<Ports, 'store' | 'clock'>,
  cluster: ClusterRead,
): Promise<void> {
  for (const child of await childrenOf(accessor, ports)) {
    const [item] = await ports.store.read([key('token', child)])
    if (!item) continue
    const { parent: _, ...orphan } = item.data
    const times = item.expires === undefined ? {} : { expires: item.expires }
    await ports.store.commit(
      [replace(item, item, orphan, times), erase(key('child', accessor, child))],
      cluster,
    )
  }
}
