/**
 * Uses of a function by name (`api/endpoint.ts`). A function needs one of these uses. If the list is empty, no
 * function may write the kind.
 */
interface Allowed {
  stores: readonly string[]
  deletes: readonly string[]
}

/**
 * The uses that may store and that may delete items of a kind, by the column `guard` of the table of kinds. The
 * ports of a function and the grants of its role follow from this table.
 */
export const tableGuards = {
  /** `write`: kinds without a guard of their own */
  write: { stores: ['write'], deletes: ['write'] },
  /** `fault`: notes about failures, which every function may store */
  fault: { stores: ['read'], deletes: [] },
  /** `mint`: tokens, which are deleted when they are used up or revoked */
  mint: { stores: ['mint'], deletes: ['spend', 'write'] },
  /** `ending`: instances whose end ends tokens; logins store them, and a worker stores their ends */
  ending: { stores: ['write', 'ending'], deletes: ['write'] },
  /** keys without which the cluster can read no encrypted item */
  'key-factory': { stores: ['key-factory'], deletes: [] },
  /** `holder`: admissions, revocations and rotations, which store which clusters do not get the new term */
  holder: { stores: ['link', 'key-factory'], deletes: [] },
  /** `recovery`: the verifier of the recovery key and its shares; not every function that makes keys may change it */
  recovery: { stores: ['recovery'], deletes: [] },
  record: { stores: ['key-factory', 'role'], deletes: [] },
  /** `ceremony`: an attempt is replaced or expires; it is never deleted */
  ceremony: { stores: ['ceremony'], deletes: [] },
  rekey: { stores: ['rekey'], deletes: [] },
  'operation-token': { stores: ['ceremony'], deletes: ['operation-token'] },
  link: { stores: ['link'], deletes: ['link'] },
  /** `apply`: a secondary's own state of following */
  apply: { stores: ['apply'], deletes: ['apply'] },
} as const satisfies Record<string, Allowed>

export type TableGuard = keyof typeof tableGuards
