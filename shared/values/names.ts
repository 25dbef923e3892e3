/**
 * Valid names of roles, certificates, accounts, instances and mounts in paths.
 * @see docs/spec/transport.md#names-in-paths
 */
export const NAME_PATTERN = /^\w(?:[\w.-]*\w)?$/

/** Converts ASCII letters to lower case. Other letters stay, because their conversion depends on locale and Unicode version. */
export const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())

/** Returns a header name as HTTP writes it: `x-amz-date` becomes `X-Amz-Date`. */
export const canonicalHeaderName = (name: string): string =>
  lowerAscii(name).replace(/(^|-)[a-z]/g, letter => letter.toUpperCase())

/** Sorts texts, without duplicates and empty texts. */
export const toSortedSet = (texts: readonly string[]): string[] =>
  [...new Set(texts)].filter(text => text !== '').sort()
