/**
 * The format of the cluster record and of the journal's head. A version that stores data that this version would
 * misread must use a higher format. Messages between clusters have their own format, in shared/link/source.ts.
 */
export const STORED_FORMAT = 1

/**
 * The stored format differs from the format of this version. Requests are refused with `unknown_format`, 503, if
 * the stored format is unknown.
 */
export class UnknownFormatError extends Error {
  readonly code = 'unknown_format'
}

/**
 * Rejects an item that another version has stored, before any field of the item is used.
 * @throws UnknownFormatError if the format is missing or is not this version's
 */
export function checkStoredFormat(what: 'cluster record' | 'journal head', format: unknown): void {
  if (format === STORED_FORMAT) return
  const stored = format === undefined ? 'no format' : `format ${JSON.stringify(format)}`
  throw new UnknownFormatError(
    `the ${what} has ${stored}, and this version knows format ${STORED_FORMAT} only; ${OTHER_VERSION_ADVICE}`,
  )
}

/**
 * Rejects an item that lacks an attribute this version relies on.
 * @throws UnknownFormatError that names the first missing attribute
 */
export function checkRequiredAttributes(kind: string, names: readonly string[], data: object): void {
  const missing = names.find(name => (data as Record<string, unknown>)[name] === undefined)
  if (missing !== undefined)
    throw new UnknownFormatError(
      `the stored ${kind} has no ${missing}, and this version relies on it; ${OTHER_VERSION_ADVICE}`,
    )
}

/**
 * The advice in errors about a cluster of another version. The embedded host recognises the error about another
 * version by this text.
 */
export const OTHER_VERSION_ADVICE = 'deploy the version that stored the item; nothing has been changed'
