/**
 * The format of the cluster record and of the journal's head. A version that stores what this one would misread has a
 * higher one. What clusters send each other has a format of its own, in shared/link/source.ts.
 */
export const STORED_FORMAT = 1

/** What is stored has another format than this version's. Requests are refused with `unknown_format`, 503. */
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
    `the ${what} has ${stored}, and this version knows format ${STORED_FORMAT} only; deploy the version that stored it; nothing has been changed`,
  )
}
