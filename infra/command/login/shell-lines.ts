/** A text as one word of a POSIX shell, whatever is in it. */
const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Lines that a POSIX shell evaluates; what is undefined has none. */
export const exportLines = (variables: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(variables)
    .flatMap(([name, value]) => (value === undefined ? [] : [`export ${name}=${shellWord(value)}\n`]))
    .join('')
