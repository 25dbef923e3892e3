/**
 * The format of the cluster record and of the journal's head. A version that stores what this one would misread has a
 * higher one. What clusters send each other has a format of its own, in shared/link/source.ts.
 */
export const STORED_FORMAT = 1

/** What is stored has another form than this version's. Requests are refused with `unknown_format`, 503. */
export class UnknownFormat extends Error {
  readonly code = 'unknown_format'
}

/**
 * Refuses what another version has stored, before anything of it is used.
 * @throws UnknownFormat for a missing format and for any but this version's
 */
export function checkFormat(what: 'cluster record' | 'journal head', format: unknown): void {
  if (format === STORED_FORMAT) return
  const stored = format === undefined ? 'no format' : `format ${JSON.stringify(format)}`
  throw new UnknownFormat(
    `the ${what} has ${stored}, and this version knows format ${STORED_FORMAT} only; ${OF_ANOTHER_VERSION}`,
  )
}

/**
 * Refuses an item without an attribute that this version relies on.
 * @throws UnknownFormat that names the first one that is missing
 */
export function checkRequired(kind: string, names: readonly string[], data: object): void {
  const missing = names.find(name => (data as Record<string, unknown>)[name] === undefined)
  if (missing !== undefined)
    throw new UnknownFormat(
      `the stored ${kind} has no ${missing}, and this version relies on it; ${OF_ANOTHER_VERSION}`,
    )
}

/** What to do about a cluster of another version; the embedded host knows that answer by it. */
export const OF_ANOTHER_VERSION = 'deploy the version that stored it; nothing has been changed'
