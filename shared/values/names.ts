/**
 * Names of roles, certificates, accounts, instances and mounts in paths.
 * @see docs/spec/transport.md#names-in-paths
 */
export const NAME = /^\w(?:[\w.-]*\w)?$/

/** Lower-cases ASCII letters only: what a locale or Unicode would do differs from place to place. */
export const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())

/** A header's name as HTTP writes it: `x-amz-date` is `X-Amz-Date`. */
export const headerName = (name: string): string =>
  lowerAscii(name).replace(/(^|-)[a-z]/g, letter => letter.toUpperCase())

/** Sorted, without repetitions and empty texts. */
export const sortedSet = (texts: readonly string[]): string[] =>
  [...new Set(texts)].filter(text => text !== '').sort()
