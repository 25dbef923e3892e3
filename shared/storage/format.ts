/**
 * The format of the cluster record and of the journal's head. A version that stores something this one would misread
 * must use a higher format. Messages between clusters have their own format, in shared/link/source.ts.
 */
export const STORED_FORMAT = 1

/** The stored format differs from this version's. Requests are refused with `unknown_format`, 503. */
export class UnknownFormat extends Error {
  readonly code = 'unknown_format'
}

/**
 * Rejects an item that another version has stored, before any of it is used.
 * @throws UnknownFormat if the format is missing or is not this version's
 */
export function checkFormat(what: 'cluster record' | 'journal head', format: unknown): void {
  if (format === STORED_FORMAT) return
  const stored = format === undefined ? 'no format' : `format ${JSON.stringify(format)}`
  throw new UnknownFormat(
    `the ${what} has ${stored}, and this version knows format ${STORED_FORMAT} only; ${OF_ANOTHER_VERSION}`,
  )
}

/**
 * Rejects an item that lacks an attribute this version relies on.
 * @throws UnknownFormat that names the first missing attribute
 */
export function checkRequired(kind: string, names: readonly string[], data: object): void {
  const missing = names.find(name => (data as Record<string, unknown>)[name] === undefined)
  if (missing !== undefined)
    throw new UnknownFormat(
      `the stored ${kind} has no ${missing}, and this version relies on it; ${OF_ANOTHER_VERSION}`,
    )
}

/** The advice in errors about a cluster of another version. The embedded host recognises that error by this text. */
export const OF_ANOTHER_VERSION = 'deploy the version that stored it; nothing has been changed'
