/** Uses by name (`api/endpoint.ts`). A function needs one of them. An empty list: no function may. */
interface Allowed {
  stores: readonly string[]
  deletes: readonly string[]
}

/**
 * The uses that may store and that may delete items of a kind, by the column `guard` of the table of kinds. Both the
 * ports of a function and the grants of its role follow from this table.
 */
export const tableGuards = {
  /** kinds without a guard of their own */
  write: { stores: ['write'], deletes: ['write'] },
  /** notes about failures: every function may store them */
  fault: { stores: ['read'], deletes: [] },
  /** tokens; they are deleted when they are used up or revoked */
  mint: { stores: ['mint'], deletes: ['spend', 'write'] },
  /** keys without which no encrypted item can be read */
  'key-factory': { stores: ['key-factory'], deletes: [] },
  /** admissions and revocations, and rotations, which store who does not get the new term */
  holder: { stores: ['link', 'key-factory'], deletes: [] },
  /** the verifier of the recovery key and its shares; not every function that makes keys may change it */
  recovery: { stores: ['recovery'], deletes: [] },
  record: { stores: ['key-factory', 'role'], deletes: [] },
  /** an attempt is replaced or expires; it is never deleted */
  ceremony: { stores: ['ceremony'], deletes: [] },
  rekey: { stores: ['rekey'], deletes: [] },
  'operation-token': { stores: ['ceremony'], deletes: ['operation-token'] },
  link: { stores: ['link'], deletes: ['link'] },
  /** a secondary's own state of following */
  apply: { stores: ['apply'], deletes: ['apply'] },
} as const satisfies Record<string, Allowed>

export type TableGuard = keyof typeof tableGuards
