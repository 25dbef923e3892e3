const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/

/**
 * Decodes standard base64 and refuses everything that `Buffer.from` would let pass: other alphabets,
 * missing padding, junk, stray bits in the last character.
 *
 * @returns the bytes, or undefined when the text is not exactly what encoding those bytes gives
 * @see https://www.rfc-editor.org/rfc/rfc4648#section-4
 */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0 || !STANDARD.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Removes ASCII white space: base64 tools wrap lines, shells turn line ends into blanks, YAML indents. */
export const removeSpace = (text: string): string => text.replace(/[\t\n\r ]+/g, '')

/**
 * The one reader for base64 that people send: as `decodeBase64`, wherever white space stands in the text. A text
 * without white space, as programs send it, is read once.
 *
 * @param padding `optional`: the `=` at the end may be missing
 */
export function readBase64(text: string, padding: 'required' | 'optional' = 'required'): Buffer | undefined {
  const exact = decodeBase64(text)
  if (exact) return exact
  const bare = removeSpace(text)
  if (padding === 'required') return bare === text ? undefined : decodeBase64(bare)
  return decodeBase64(bare.endsWith('=') ? bare : bare.padEnd(Math.ceil(bare.length / 4) * 4, '='))
}

/** Decodes the URL-safe alphabet, with padding or without any; undefined when the text is something else. */
export function decodeBase64Url(text: string): Buffer | undefined {
  if (!URL_SAFE.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const bare = bytes.toString('base64url')
  return text === bare || text === bare.padEnd(Math.ceil(bare.length / 4) * 4, '=') ? bytes : undefined
}
