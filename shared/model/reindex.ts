/** The progress of building the tree of all items, or of removing it. */
export interface ReindexProgress {
  /** `treeId`: id of the tree; empty while the tree is removed */
  treeId: string
  stage: 'building' | 'done' | 'clearing'
  /** items processed */
  done: number
  /** known number of items */
  total: number
  /** `late`: passes after the tree was complete, for items that were written late */
  late: number
}
