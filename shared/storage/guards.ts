/** Uses by name (`api/endpoint.ts`), of which one is enough. None: nobody may, whatever was declared. */
interface Allowed {
  stores: readonly string[]
  deletes: readonly string[]
}

/**
 * Who may store and who may delete items of a kind, by the column `guard` of the table of kinds. Both the ports of a
 * function and the grants of its role follow from this.
 */
export const guards = {
  /** what has no guard of its own */
  write: { stores: ['write'], deletes: ['write'] },
  /** notes on what fails: of every function, whatever it may write besides */
  fault: { stores: ['read'], deletes: [] },
  /** tokens: one that is used up or revoked goes */
  mint: { stores: ['mint'], deletes: ['spend', 'write'] },
  /** keys without which nothing can be read again */
  'key-factory': { stores: ['key-factory'], deletes: [] },
  /** admissions and revocations, and rotations, which note who does not get the new term */
  holder: { stores: ['link', 'key-factory'], deletes: [] },
  /** who may change what recovery shares are judged by: not all who make keys */
  recovery: { stores: ['recovery'], deletes: [] },
  record: { stores: ['key-factory', 'role'], deletes: [] },
  /** an attempt is replaced, or dies */
  ceremony: { stores: ['ceremony'], deletes: [] },
  rekey: { stores: ['rekey'], deletes: [] },
  'operation-token': { stores: ['ceremony'], deletes: ['operation-token'] },
  link: { stores: ['link'], deletes: ['link'] },
  /** a secondary's notes on its following: they end with it */
  apply: { stores: ['apply'], deletes: ['apply'] },
} as const satisfies Record<string, Allowed>

export type Guard = keyof typeof guards
