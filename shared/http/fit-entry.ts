import { isObject } from '../values/json.ts'

/** Maximum bytes of an audit entry as JSON. @see docs/spec/audit.md#size */
export const MAX_AUDIT_ENTRY_BYTES = 32 * 1024

/** Values of up to this many bytes as JSON are kept, because replacing them saves nothing. */
const SMALL = 128

type Entry = Readonly<Record<string, unknown>>

/** A value of an entry, and its place in the copy that is shrunk. */
interface Place {
  holder: Record<string, unknown>
  name: string
  value: unknown
  /** bytes as JSON */
  size: number
  depth: number
}

/**
 * Shrinks an audit entry to the allowed size. Replaces the largest values by their length and HMAC until the entry
 * fits: lists and texts before objects, inner objects before outer ones. Shrinking the same entry always gives the
 * same result.
 */
export async function fitAuditEntry(
  entry: Entry,
  hmac: (text: string) => Promise<string>,
  largest = MAX_AUDIT_ENTRY_BYTES,
): Promise<Entry> {
  const text = JSON.stringify(entry)
  let excess = Buffer.byteLength(text) - largest
  if (excess <= 0) return entry
  const copy = JSON.parse(text) as Record<string, unknown>
  const places: Place[] = []
  collect(JSON.parse(text) as Record<string, unknown>, copy, 0, places)
  for (const { holder, name, value, size } of places.sort(byTurn)) {
    if (excess <= 0) break
    // the content of an object may have been replaced already
    const before = isObject(value) ? sizeOf(holder[name]) : size
    if (before <= SMALL) continue
    const stand = await standIn(value, hmac)
    holder[name] = stand
    excess -= before - sizeOf(stand)
  }
  return copy
}

/** Collects the members of an object, including those of inner objects. @returns its size */
function collect(from: Entry, holder: Record<string, unknown>, depth: number, places: Place[]): number {
  let total = 1
  for (const [name, value] of Object.entries(from)) {
    const size = isObject(value)
      ? collect(value, holder[name] as Record<string, unknown>, depth + 1, places)
      : sizeOf(value)
    places.push({ holder, name, value, size, depth })
    total += sizeOf(name) + size + 2
  }
  return Math.max(total, 2)
}

function byTurn(a: Place, b: Place): number {
  const [first, second] = [isObject(a.value), isObject(b.value)]
  if (first !== second) return first ? 1 : -1
  return (first ? b.depth - a.depth : 0) || b.size - a.size
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Returns the replacement of a value: the bytes and the HMAC of its text or JSON. */
async function standIn(value: unknown, hmac: (text: string) => Promise<string>) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { length: Buffer.byteLength(text), hmac: await hmac(text) }
}
