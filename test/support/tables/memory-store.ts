import type { Store } from '../../../shared/ports.ts'
import { type Change, keyOf } from '../../../shared/storage/changes.ts'
import type { Item, Key, Partitions } from '../../../shared/storage/kinds.ts'

const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`

/**
 * Items in memory, for tests of what happens around a store; what a store does is tested on the engine.
 * The first of `verdicts` decide commits before the items do.
 */
export function memoryStore(items: readonly Item[], verdicts: ('done' | 'conflict')[] = []) {
  const stored = new Map(items.map(item => [nameOf(item), item]))
  const commits: (readonly Change[])[] = []
  const fits = (change: Change): boolean => {
    const { expected } = change
    if (expected === 'any') return true
    const found = stored.get(nameOf(keyOf(change)))
    return expected === 'absent' ? found === undefined : found?.rev === expected.rev
  }
  const apply = (change: Change): void => {
    if ('put' in change) {
      const { kind, pk, sk } = change.put
      stored.set(nameOf(change.put), {
        kind,
        pk,
        sk,
        rev: `rev-${commits.length}`,
        data: change.data,
      } as Item)
    } else if ('delete' in change) stored.delete(nameOf(change.delete))
    else {
      const item = stored.get(nameOf(change.count)) as Item<'token'>
      const data = { ...item.data, numUses: change.left }
      stored.set(nameOf(item), { ...item, rev: `rev-${commits.length}`, data })
    }
  }
  const store = {
    read: async (keys: readonly Key[]) => keys.map(key => stored.get(nameOf(key))),
    list: async ({ kind, pks }: Partitions) =>
      [...stored.values()].filter(item => item.kind === kind && pks.includes(item.pk)),
    commit: async (changes: readonly Change[]) => {
      const verdict = verdicts.shift() ?? (changes.every(fits) ? 'done' : 'conflict')
      if (verdict === 'done') {
        commits.push(changes)
        changes.forEach(apply)
      }
      return verdict
    },
  } as unknown as Store
  return { store, commits, stored }
}
