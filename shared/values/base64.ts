const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/

/**
 * Decodes standard base64. Rejects what `Buffer.from` accepts: other alphabets, missing padding, junk, and stray bits in the last
 * character.
 *
 * @returns the bytes; undefined unless the text is exactly the encoding of those bytes
 * @see https://www.rfc-editor.org/rfc/rfc4648#section-4
 */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0 || !STANDARD.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Removes ASCII white space, because base64 tools wrap lines, shells turn line breaks into blanks and YAML indents. */
export const removeWhitespace = (text: string): string => text.replace(/[\t\n\r ]+/g, '')

/**
 * Decodes base64 from users: like `decodeBase64`, but ignores white space. Text without white space is decoded once.
 *
 * @param padding `optional`: the `=` at the end may be missing
 */
export function readBase64(text: string, padding: 'required' | 'optional' = 'required'): Buffer | undefined {
  const exact = decodeBase64(text)
  if (exact) return exact
  const bare = removeWhitespace(text)
  if (padding === 'required') return bare === text ? undefined : decodeBase64(bare)
  return decodeBase64(bare.endsWith('=') ? bare : bare.padEnd(Math.ceil(bare.length / 4) * 4, '='))
}

/** Decodes URL-safe base64, with or without padding; undefined for any other text. */
export function decodeBase64Url(text: string): Buffer | undefined {
  if (!URL_SAFE.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const bare = bytes.toString('base64url')
  return text === bare || text === bare.padEnd(Math.ceil(bare.length / 4) * 4, '=') ? bytes : undefined
}

/** Decodes URL-safe base64 without padding; undefined for the empty text and for any other text. */
export const decodeUnpaddedBase64Url = (text: string): Buffer | undefined =>
  text === '' || text.includes('=') ? undefined : decodeBase64Url(text)
