/** How far the tree of all items has been built, or taken down. */
export interface Reindex {
  /** of the tree; empty while it is taken down */
  treeId: string
  stage: 'building' | 'done' | 'clearing'
  /** items gone through */
  done: number
  /** items there are, as far as is known */
  total: number
  /** passes made after the tree was whole, for who came late all the same */
  late: number
}
