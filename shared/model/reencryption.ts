/**
 * The progress of re-encryption with the term that encrypts. Times of the re-encryption are epoch milliseconds.
 * @see docs/spec/keys.md#re-encryption
 */
export interface ReencryptionProgress {
  /** `term`, `termNumber`: identity and number of the term that encrypts */
  term: string
  termNumber: number
  /**
   * `epoch` of this cluster's journal during the run; empty: the cluster keeps no journal. In another epoch the
   * re-encryption starts again
   */
  epoch: string
  since: number
  /** `until`: until this time only the holder of this lease continues */
  until: number
  /** `pass`: number of the pass through the table; another pass follows if the pass could not write an item */
  pass: number
  /** `nextPlace`: the key at which the pass continues; absent: at the table's beginning */
  nextPlace?: TablePlace
  /** `seen`: items that the pass has read, and that the last complete pass had read; 0: no pass was complete */
  seen: number
  total: number
  /** `written`: items that were re-encrypted, in all passes */
  written: number
  /** items that this pass could not write */
  skipped: number
  /** `unreadable`: fields of this pass that no term of this cluster decrypts, with the names of some of these fields */
  unreadable: { count: number; names: readonly string[] }
  /** end of the re-encryption; absent: it is running */
  doneAt?: number
  /** `position` of this cluster's journal at the end; absent: the cluster keeps no journal */
  position?: { epoch: string; seq: number }
}

/** A place in a table that is scanned in segments. */
interface TablePlace {
  segment: number
  from?: { pk: string; sk: string }
}
