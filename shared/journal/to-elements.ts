import type { Entropy } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import { newRevision, toStored } from '../storage/requests.ts'
import type { Element } from './journal.ts'

/**
 * Elements for changes that are made in one transaction with a move of the head, which no commit contains. All items get
 * one revision.
 * @throws Error for a change that is no put, or that expects nothing of the item
 */
export function toElements<const C extends readonly Change[]>(
  changes: C,
  entropy: Pick<Entropy, 'bytes'>,
): { [I in keyof C]: Element } {
  const rev = newRevision(entropy)
  const elements = changes.map((change): Element => {
    const { expected } = change
    if (change.kind !== 'put' || expected === 'any')
      throw new Error('only what was read is stored together with the head')
    const { kind, pk, sk } = change.key
    return {
      kind: 'item',
      item: { kind, pk, sk },
      put: toStored(change, rev),
      if: expected === 'absent' ? expected : { rev: expected.rev },
    }
  })
  return elements as { [I in keyof C]: Element }
}
