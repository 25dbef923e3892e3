import { versionIn } from '../storage/encryption.ts'
import { specOf } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import type { Cell } from './cell.ts'

/** The newest term of the keyring that encrypted a field of these items; 0 where nothing is encrypted. */
export const newestTermOf = (items: readonly StoredItem[]): number => Math.max(0, ...items.map(termOf))

/** The same of what cells store. */
export const newestTermIn = (cells: readonly Cell[]): number =>
  newestTermOf(cells.flatMap(({ body }) => body.flatMap(({ item }) => item ?? [])))

function termOf({ kind, data }: StoredItem): number {
  const fields = Object(data) as Record<string, unknown>
  const terms = (specOf(kind).encrypted ?? []).map(name => {
    const text = fields[name]
    return typeof text === 'string' ? (versionIn(text) ?? 0) : 0
  })
  return Math.max(0, ...terms)
}
