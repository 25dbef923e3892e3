import type { Check } from '../history.ts'
import { acknowledged, even, kept, onePrimary, oneSet, prefix } from './clusters.ts'
import { exactEnd, immutable, lawful, named, oneOwner, staged } from './journal.ts'
import { order, sums } from './tree.ts'
import { revoked, terms } from './trust.ts'

/** The invariants that every set of clusters must keep at every moment, by name. */
export const invariants: Readonly<Record<string, () => Check>> = {
  oneOwner,
  immutable,
  exactEnd,
  lawful,
  staged,
  named,
  sums,
  order,
  prefix,
  onePrimary,
  oneSet,
  acknowledged,
  even,
  kept,
  revoked,
  terms,
}
