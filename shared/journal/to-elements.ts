import type { Entropy } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import { newRevision, toStored } from '../storage/requests.ts'
import type { Element } from './journal.ts'

/**
 * Changes that are made in one transaction with the head: a commit never holds that. All items get one revision.
 * @throws Error for a change that stores nothing, or whatever is there
 */
export function toElements<const C extends readonly Change[]>(
  changes: C,
  entropy: Pick<Entropy, 'bytes'>,
): { [I in keyof C]: Element } {
  const rev = newRevision(entropy)
  const elements = changes.map((change): Element => {
    const { expected } = change
    if (!('put' in change) || expected === 'any')
      throw new Error('only what was read is stored together with the head')
    const { kind, pk, sk } = change.put
    return {
      item: { kind, pk, sk },
      put: toStored(change, rev),
      if: expected === 'absent' ? expected : { rev: expected.rev },
    }
  })
  return elements as { [I in keyof C]: Element }
}
