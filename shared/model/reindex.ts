/** The progress of building the tree of all items. */
export interface ReindexProgress {
  /** `treeId`: id of the tree; empty: the tree was removed */
  treeId: string
  stage: 'building' | 'done'
  /** items processed */
  done: number
  /** known number of items */
  total: number
  /** `late`: passes after the tree was complete, for items that were written late */
  late: number
}
