/**
 * Characters that a terminal obeys, or that hide or reorder text: controls but line feed and tab, and Unicode's format
 * characters.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const KEPT = '\n\t'

/** Writes a UTF-16 unit as JSON does, so that JSON with such characters in its texts stays the same JSON. */
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')

/** Returns a text as a terminal may be given it: what it would obey is escaped. Lines and tabs stay. */
export const escapeForTerminal = (text: string): string =>
  text.replace(OBEYED, character => (KEPT.includes(character) ? character : escaped(character)))

/** Returns a text of a server as part of a line: what it would obey is escaped, and breaks become blanks. */
export const inOneLine = (text: string): string => escapeForTerminal(text.replace(/\s+/g, ' ').trim())

/** Every program writes to a terminal by this. @returns writes a text, with nothing behind it */
export const writerTo =
  (stream: NodeJS.WritableStream) =>
  (text: string): void =>
    void stream.write(escapeForTerminal(text))
