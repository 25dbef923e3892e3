/** A decoded name and value of a query string or form. */
export type FormPair = readonly [name: string, value: string]

/**
 * Parses a query string or form to pairs, in order, with repeated names.
 * @returns undefined if a percent escape is malformed or does not decode to UTF-8
 */
export function parseFormPairs(text: string): FormPair[] | undefined {
  if (text === '') return []
  try {
    return text.split('&').filter(Boolean).map(parsePair)
  } catch {
    return undefined
  }
}

function parsePair(text: string): FormPair {
  const at = text.indexOf('=')
  return at < 0 ? [decode(text), ''] : [decode(text.slice(0, at)), decode(text.slice(at + 1))]
}

const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))
