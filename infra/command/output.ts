/**
 * Characters that control a terminal, or hide or reorder text: controls except line feed and tab, and Unicode's
 * format characters.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const KEPT = '\n\t'

/** Escapes each UTF-16 unit as JSON does, so that JSON output keeps its meaning. */
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')

/** Escapes a text for a terminal. Line feeds and tabs stay. */
export const escapeForTerminal = (text: string): string =>
  text.replace(OBEYED, character => (KEPT.includes(character) ? character : escaped(character)))

/** Escapes a server's text for use within a line; line breaks become blanks. */
export const escapeToOneLine = (text: string): string => escapeForTerminal(text.replace(/\s+/g, ' ').trim())

/**
 * Creates the function with which all programs write to terminals. @returns a function that writes a text
 * without a line break
 */
export const createTerminalWriter =
  (stream: NodeJS.WritableStream) =>
  (text: string): void =>
    void stream.write(escapeForTerminal(text))
