/**
 * How far this cluster has encrypted what is stored anew, by the term that encrypts. Times are epoch milliseconds.
 * @see docs/spec/keys.md#re-encryption
 */
export interface Reencryption {
  /** identity and number of the term */
  term: string
  termNumber: number
  /** of this cluster's journal while it does; empty: it keeps none. In another one it begins anew */
  epoch: string
  since: number
  /** until then whoever has written this goes on, and nobody else */
  until: number
  /** number of the pass through the table: another one follows where something was not written */
  pass: number
  /** where the pass goes on; absent: at its beginning */
  nextPlace?: TablePlace
  /** items that the pass has seen, and that the last whole one had seen; 0: there was none */
  seen: number
  total: number
  /** items that were encrypted anew, in all passes */
  written: number
  /** items that this pass could not write */
  skipped: number
  /** fields that this pass found, and that no term of this cluster opens, with the first of their names */
  unreadable: { count: number; names: readonly string[] }
  /** absent: it goes on */
  doneAt?: number
  /** of the own journal at the end; absent: none is kept */
  position?: { epoch: string; seq: number }
}

/** A place in a table that is gone through in segments. */
interface TablePlace {
  segment: number
  from?: { pk: string; sk: string }
}
