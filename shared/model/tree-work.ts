/** What a check found. Each level is judged against what is stored one level below. */
export interface Findings {
  /** the root of the whole tree is not that of both subtrees */
  readonly whole: boolean
  readonly subtrees: Readonly<Record<'replicated' | 'local', SubtreeFindings>>
}

export interface SubtreeFindings {
  /** as it is stored, base64url; empty: none is */
  readonly root: string
  /** it is not that of the pages */
  readonly corrupted: boolean
  /** pages with something wrong, by number */
  readonly pages: Readonly<Record<number, PageFindings>>
}

/** A page: whether its own hash is not that of its buckets, and which of these are not those of their items. */
export interface PageFindings {
  readonly corrupted: boolean
  /** a bit for each bucket, base64, the lowest number first: all of a tree's have to fit into one item */
  readonly subpages: string
}

/** The last check of the tree, and one that runs. Times are epoch milliseconds. */
export interface TreeCheck {
  /** of the tree that this record is about */
  treeId: string
  /** the newest operation: whether it runs is told by its own item */
  operation: string
  startedAt: number
  /** of the last check that ended; absent: none has */
  checkedAt?: number
  /** what it found; absent: nothing yet, or it has been repaired since */
  findings?: Findings | undefined
  /** the tree was found wrong, and nothing has been repaired since */
  corrupted: boolean
}

/** The last time that the tree was made anew from what stands in the table. Times are epoch milliseconds. */
export interface TreeReindex {
  treeId: string
  operation: string
  startedAt: number
  /** absent: it runs, or was given up */
  finishedAt?: number
  stage: 'scanning' | 'building' | 'commit' | 'done' | 'failed'
  /** of `building`: pages gone through, of how many */
  done: number
  total: number
  /** items that were not as the primary has them, and are fetched from it: how many, and some of their names */
  differences?: { count: number; names: readonly string[] }
}
