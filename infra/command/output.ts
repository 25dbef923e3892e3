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

/** A part of a text with a colour, on a terminal that shows colours. */
export interface Painted {
  text: string
  tone: keyof typeof SGR
}
/** A text, or its parts. */
export type TerminalText = string | readonly (string | Painted)[]

/** Colours the lines of a text that begin with a mark. */
export const paintLines = (
  text: string,
  tones: Readonly<Record<string, Painted['tone']>>,
): readonly (string | Painted)[] =>
  text.split(/(?<=\n)/).map(line => {
    const [, tone] = Object.entries(tones).find(([mark]) => line.startsWith(mark)) ?? []
    return tone === undefined ? line : { text: line, tone }
  })

/** Parameters of the terminal sequence that sets a colour. */
const SGR = { good: '32', bad: '31', dim: '2' } as const

/** Reports whether a stream is a terminal that shows colours. The variable `NO_COLOR` turns colours off. */
export const usesColours = (
  { isTTY }: { isTTY?: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): boolean => isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb'

/**
 * Creates the function with which all programs write to terminals. @returns a function that writes a text
 * without a line break
 */
export const createTerminalWriter =
  (stream: NodeJS.WritableStream, isColoured = false) =>
  (text: TerminalText): void => {
    const parts = typeof text === 'string' ? [text] : text
    stream.write(parts.map(part => formatPart(part, isColoured)).join(''))
  }

function formatPart(part: string | Painted, isColoured: boolean): string {
  if (typeof part === 'string') return escapeForTerminal(part)
  const text = escapeForTerminal(part.text)
  return isColoured ? `\x1b[${SGR[part.tone]}m${text}\x1b[0m` : text
}
