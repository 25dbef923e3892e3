import type { TreePagePlace } from '../../journal/page-places.ts'
import { TREE_SUBTREES, type TreeSubtree } from '../../journal/refresh.ts'
import type { PageFindings, SubtreeFindings, TreeFindings } from '../../model/tree-work.ts'
import { formatTime } from '../../values/time.ts'

/** A fault that a check found, by the level of the tree. */
export type TreeFault =
  | (TreePagePlace & { readonly level: 'bucket'; readonly subpage: number })
  | (TreePagePlace & { readonly level: 'page' })
  | { readonly level: 'root'; readonly of: TreeSubtree }
  | { readonly level: 'whole' }

export function toTreeFindings(
  faults: readonly TreeFault[],
  roots: Readonly<Record<TreeSubtree, string>>,
): TreeFindings {
  const subtree = (of: TreeSubtree): SubtreeFindings => {
    const own = faults.flatMap(one =>
      (one.level === 'page' || one.level === 'bucket') && one.of === of ? one : [],
    )
    const pages = [...Map.groupBy(own, ({ page }) => page)].sort(([a], [b]) => a - b)
    return {
      root: roots[of],
      corrupted: faults.some(one => one.level === 'root' && one.of === of),
      pages: Object.fromEntries(pages.map(([page, some]) => [page, pageFindings(some)])),
    }
  }
  return {
    whole: faults.some(({ level }) => level === 'whole'),
    subtrees: { replicated: subtree('replicated'), local: subtree('local') },
  }
}

function pageFindings(faults: readonly TreeFault[]): PageFindings {
  const bits = Buffer.alloc(32)
  for (const fault of faults)
    if (fault.level === 'bucket')
      bits[fault.subpage >> 3] = (bits[fault.subpage >> 3] ?? 0) | (1 << (fault.subpage & 7))
  return { corrupted: faults.some(({ level }) => level === 'page'), subpages: bits.toString('base64') }
}

const isSound = ({ whole, subtrees }: TreeFindings): boolean =>
  !whole && TREE_SUBTREES.every(of => !subtrees[of].corrupted && Object.keys(subtrees[of].pages).length === 0)

/** Reports whether a check found any fault. */
export const areFindingsCorrupt = (findings: TreeFindings): boolean => !isSound(findings)

/** Bytes of the root that are shown; Vault's clients expect this many. */
const ROOT_BYTES = 20
const NUMBER = { replicated: '1', local: '2' } as const

/**
 * Returns the `merkle_corruption_report` of the answer.
 * @param at time of the check, epoch milliseconds
 * @see docs/spec/tree.md#the-check-of-the-tree
 */
export const toCorruptionReport = ({ whole, subtrees }: TreeFindings, at: number) => ({
  corrupted_root: whole,
  last_corruption_check_epoch: formatTime(at),
  corrupted_tree_map: Object.fromEntries(
    TREE_SUBTREES.map(of => {
      const { root, corrupted, pages } = subtrees[of]
      const tuples = Object.entries(pages).map(([page, found]) => [
        page,
        { corrupted: found.corrupted, subpages: subpagesIn(found) },
      ])
      return [
        NUMBER[of],
        {
          tree_type: of,
          root_hash: Buffer.from(root, 'base64url').subarray(0, ROOT_BYTES).toString('base64'),
          corrupted_subtree_root: corrupted,
          corrupted_index_tuples_map: tuples.length > 0 ? Object.fromEntries(tuples) : null,
        },
      ]
    }),
  ),
})

const subpagesIn = ({ subpages }: PageFindings): number[] =>
  [...Buffer.from(subpages, 'base64')].flatMap((byte, index) =>
    Array.from({ length: 8 }, (_, bit) => (byte & (1 << bit) ? [index * 8 + bit] : [])).flat(),
  )
