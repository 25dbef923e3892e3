/**
 * The progress of re-encryption with the term that encrypts. Times are epoch milliseconds.
 * @see docs/spec/keys.md#re-encryption
 */
export interface ReencryptionProgress {
  /** identity and number of the term */
  term: string
  termNumber: number
  /** epoch of this cluster's journal during the run; empty: it keeps none. In another epoch the run starts again */
  epoch: string
  since: number
  /** until then only the holder of this lease continues */
  until: number
  /** number of the pass through the table; another pass follows if an item could not be written */
  pass: number
  /** where the pass continues; absent: at its beginning */
  nextPlace?: TablePlace
  /** items that the pass has read, and that the last complete pass had read; 0: there was none */
  seen: number
  total: number
  /** items that were re-encrypted, in all passes */
  written: number
  /** items that this pass could not write */
  skipped: number
  /** fields of this pass that no term of this cluster decrypts, with some of their names */
  unreadable: { count: number; names: readonly string[] }
  /** end of the re-encryption; absent: it is running */
  doneAt?: number
  /** position of this cluster's journal at the end; absent: it keeps no journal */
  position?: { epoch: string; seq: number }
}

/** A place in a table that is scanned in segments. */
interface TablePlace {
  segment: number
  from?: { pk: string; sk: string }
}
