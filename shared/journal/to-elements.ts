import type { Entropy } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import { newRevision, toStoredItem } from '../storage/requests.ts'
import type { TransactionElement } from './journal.ts'

/**
 * Converts changes to elements of a transaction that also moves the head; a commit never moves the head. All items
 * of the transaction get one revision.
 * @throws Error for a change that is not a put, or that has no expectation about the stored item
 */
export function toTransactionElements<const C extends readonly Change[]>(
  changes: C,
  entropy: Pick<Entropy, 'bytes'>,
): { [I in keyof C]: TransactionElement } {
  const rev = newRevision(entropy)
  const elements = changes.map((change): TransactionElement => {
    const { expected } = change
    if (change.kind !== 'put' || expected === 'any')
      throw new Error('a transaction that moves the journal head may only put items that were read before')
    const { kind, pk, sk } = change.key
    return {
      kind: 'item',
      item: { kind, pk, sk },
      put: toStoredItem(change, rev),
      if: expected === 'absent' ? expected : { rev: expected.rev },
    }
  })
  return elements as { [I in keyof C]: TransactionElement }
}
