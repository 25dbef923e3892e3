import { refused } from '../api/errors.ts'

/**
 * The format of the cluster record and of the journal's head. A version that stores what this one would misread has a
 * higher one. What clusters send each other has a format of its own, in shared/link/source.ts.
 */
export const STORED_FORMAT = 1

/**
 * Refuses what another version has stored, before anything of it is used.
 * @throws ApiError `unknown_format` for a missing format and for any but this version's
 */
export function checkFormat(what: 'cluster record' | 'journal head', format: unknown): void {
  if (format === STORED_FORMAT) return
  const found = format === undefined ? 'no format' : `format ${JSON.stringify(format)}`
  throw refused(
    'unknown_format',
    `the ${what} has ${found}, and this version knows format ${STORED_FORMAT} only`,
    'deploy the version that stored it; nothing has been changed',
  )
}
