/** The findings of a check of the tree. The check compares each level of the tree with the level below it. */
export interface TreeFindings {
  /** `whole`: the root of the whole tree does not follow from the roots of both subtrees */
  readonly whole: boolean
  readonly subtrees: Readonly<Record<'replicated' | 'local', SubtreeFindings>>
}

export interface SubtreeFindings {
  /** the stored root, base64url; empty: no root is stored */
  readonly root: string
  /** `corrupted`: the stored root of the subtree does not follow from its pages' hashes */
  readonly corrupted: boolean
  /** pages with a fault, by number */
  readonly pages: Readonly<Record<number, PageFindings>>
}

/**
 * The findings for a page: whether its hash does not follow from its buckets, and which buckets do not follow from
 * their items.
 */
export interface PageFindings {
  readonly corrupted: boolean
  /**
   * `subpages`: one bit for each bucket, base64, the lowest number first. The bits are compact, because the
   * findings of a whole tree must fit into one item.
   */
  readonly subpages: string
}

/** The last check of the tree, and a running check. Times of a check are epoch milliseconds. */
export interface TreeCheck {
  /** id of the checked tree */
  treeId: string
  /** `operation`: id of the newest operation; the operation's own item says whether it is running */
  operation: string
  startedAt: number
  /** `checkedAt`: when the last completed check ended; absent: no check was completed */
  checkedAt?: number
  /** `findings` of the last check; absent: no check was completed yet, or the tree was repaired since */
  findings?: TreeFindings | undefined
  /** `corrupted`: the last check found faults, and the tree was not repaired since */
  corrupted: boolean
}

/** The last reindex: the tree is built again from the items in the table. Times of a reindex are epoch milliseconds. */
export interface TreeReindex {
  treeId: string
  operation: string
  startedAt: number
  /** end of the work; absent: the work is running, or was given up */
  finishedAt?: number
  stage: 'scanning' | 'building' | 'commit' | 'done' | 'failed'
  /** in stage `building`: number of pages processed, and of all pages */
  done: number
  total: number
  /**
   * `differences`: number of items that differed from the primary's and are fetched from it, and the names of some
   * of them
   */
  differences?: { count: number; names: readonly string[] }
}
