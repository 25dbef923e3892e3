import { TREE_SUBTREES, type TreeSubtree } from './refresh.ts'
import { type TreeBucket, treePageNames, treePagePkByName } from './tree.ts'

/** A page of a subtree, by its number. */
export interface TreePagePlace {
  readonly of: TreeSubtree
  readonly page: number
}

/** The places of all pages of both subtrees. */
export const allTreePages: readonly TreePagePlace[] = TREE_SUBTREES.flatMap(of =>
  treePageNames.map((_, page) => ({ of, page })),
)

export const treePagePk = (treeId: string, { of, page }: TreePagePlace): string =>
  treePagePkByName(treeId, of, treePageNames[page] ?? '')

export const treeBucketAt = (treeId: string, place: TreePagePlace, subpage: number): TreeBucket => ({
  pk: treePagePk(treeId, place),
  sk: treePageNames[subpage] ?? '',
})
