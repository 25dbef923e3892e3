import type { Call } from '../../api/call.ts'
import type { Items, Ports } from '../../ports.ts'
import type { Key } from '../../storage/kinds.ts'

/** Items of an attempt: those it has already, and one batch read of the others. */
export async function fetchItems<const K extends readonly Key[]>(
  call: Pick<Call, 'fetched' | 'ports'>,
  keys: K,
): Promise<Items<K>> {
  const missing = keys.filter(key => !call.fetched.has(key))
  const read = missing.length > 0 ? await call.ports.store.read(missing) : []
  for (const [index, key] of missing.entries()) call.fetched.keep(key, read[index])
  return keys.map(key => call.fetched.get(key)) as Items<K>
}

const MOST_REMEMBERED = 10_000

/**
 * Remembers something that helps to guess the keys of the next request. It is never believed: a wrong guess
 * costs one more read.
 */
export function remember({ keyHints }: Pick<Ports, 'keyHints'>, name: string, value: string): void {
  if (keyHints.size >= MOST_REMEMBERED) keyHints.clear()
  keyHints.set(name, value)
}

/** Names of what is remembered. */
export const hintOf = {
  aliasKind: (accessor: string, type: string) => `alias ${accessor} ${type}`,
  roleId: (accessor: string, role: string) => `role ${accessor} ${role}`,
}
