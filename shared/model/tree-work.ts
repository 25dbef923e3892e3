/** The findings of a check. Each level is compared with what is stored one level below. */
export interface TreeFindings {
  /** the root of the whole tree does not follow from those of both subtrees */
  readonly whole: boolean
  readonly subtrees: Readonly<Record<'replicated' | 'local', SubtreeFindings>>
}

export interface SubtreeFindings {
  /** the stored root, base64url; empty: none is stored */
  readonly root: string
  /** the stored root does not follow from the pages */
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
   * one bit for each bucket, base64, the lowest number first. Compact, because the findings of a whole tree must fit
   * into one item.
   */
  readonly subpages: string
}

/** The last check of the tree, and a running one. Times are epoch milliseconds. */
export interface TreeCheck {
  /** id of the checked tree */
  treeId: string
  /** id of the newest operation; its own item says whether it is running */
  operation: string
  startedAt: number
  /** when the last completed check ended; absent: none has */
  checkedAt?: number
  /** the last findings; absent: none yet, or the tree was repaired since */
  findings?: TreeFindings | undefined
  /** the last check found faults, and the tree was not repaired since */
  corrupted: boolean
}

/** The last reindex: the tree is built again from the items in the table. Times are epoch milliseconds. */
export interface TreeReindex {
  treeId: string
  operation: string
  startedAt: number
  /** end of the work; absent: the work is running, or was given up */
  finishedAt?: number
  stage: 'scanning' | 'building' | 'commit' | 'done' | 'failed'
  /** in stage `building`: pages processed, and all pages */
  done: number
  total: number
  /** items that differed from the primary's and are fetched from it: their number, and some of their names */
  differences?: { count: number; names: readonly string[] }
}
