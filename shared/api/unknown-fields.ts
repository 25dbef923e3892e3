import type { ParameterFields } from './fields.ts'

/** Limits of a warning: number of names and characters per name. A client that sends more made no typing error. */
const MOST_NAMES = 20
const LONGEST_NAME = 100

/**
 * Returns a warning for unknown fields, each with the most similar known name.
 * @param place prefix of each name, such as `config.`
 */
export function unknownFieldsWarning(
  unknown: readonly string[],
  fields: ParameterFields,
  place = '',
): string {
  const known = Object.keys(fields)
  const named = unknown.slice(0, MOST_NAMES).map(name => {
    const near = nearestName(name, known)
    return `${place}${name.slice(0, LONGEST_NAME)}${near === undefined ? '' : ` (did you mean ${place}${near}?)`}`
  })
  const more = unknown.length - named.length
  return `unknown parameters were ignored: ${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

/** Returns the most similar known name; undefined if more than a third of the name differs. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const most = Math.floor(given.length / 3)
  const [nearest] = known
    .filter(name => Math.abs(name.length - given.length) <= most)
    .map(name => ({ name, slips: slipsBetween(given.toLowerCase(), name) }))
    .sort((a, b) => a.slips - b.slips)
  return nearest && nearest.slips <= most ? nearest.name : undefined
}

/** Counts the letters to insert, delete, replace or swap to turn one text into the other. */
function slipsBetween(from: string, to: string): number {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let row = 1; row <= from.length; row++) {
    const next = [row]
    for (let at = 1; at <= to.length; at++) {
      const same = from[row - 1] === to[at - 1]
      const swapped = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1]
      next[at] = Math.min(
        (last[at] ?? 0) + 1,
        (next[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last[to.length] ?? 0
}
