import { SUBTREES, type Subtree } from './refresh.ts'
import { type Bucket, pageNames, pagePk } from './tree.ts'

/** A page of a subtree, by its number. */
export interface PagePlace {
  readonly of: Subtree
  readonly page: number
}

/** All pages of both subtrees. */
export const allPages: readonly PagePlace[] = SUBTREES.flatMap(of =>
  pageNames.map((_, page) => ({ of, page })),
)

export const pkOfPage = (treeId: string, { of, page }: PagePlace): string =>
  pagePk(treeId, of, pageNames[page] ?? '')

export const bucketAt = (treeId: string, place: PagePlace, subpage: number): Bucket => ({
  pk: pkOfPage(treeId, place),
  sk: pageNames[subpage] ?? '',
})
