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

/** The same, after removing ASCII white space: the metadata service wraps its documents into lines. */
export const decodeWrappedBase64 = (text: string): Buffer | undefined =>
  decodeBase64(text.replace(/[\t\n\r ]+/g, ''))

/** Decodes base64 with padding or without any, line breaks taken out, as Terraform writes certificates back. */
export function decodeUnpaddedBase64(text: string): Buffer | undefined {
  const bare = text.replace(/[\t\n\r ]+/g, '')
  return decodeBase64(bare.endsWith('=') ? bare : bare.padEnd(Math.ceil(bare.length / 4) * 4, '='))
}

/** Decodes the URL-safe alphabet, with padding or without any; undefined when the text is something else. */
export function decodeBase64Url(text: string): Buffer | undefined {
  if (!URL_SAFE.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const bare = bytes.toString('base64url')
  return text === bare || text === bare.padEnd(Math.ceil(bare.length / 4) * 4, '=') ? bytes : undefined
}
