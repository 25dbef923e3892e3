/** Formats a time span: `0 s`, `59 s`, `3 min`, `5 h`, `12 days`. @param ms negative values count as 0 */
export function formatTimeSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`
}

/** Formats a lag. */
export const formatLag = (ms: number): string => (ms < 1000 ? 'less than a second' : formatTimeSpan(ms))

/** Formats a count with the singular or plural of a word. */
export const formatCount = (count: number, one: string, several = `${one}s`): string =>
  `${count} ${count === 1 ? one : several}`

/** Characters that control a terminal, or hide or reorder text. */
const MISLEADING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
/** Longest text of another cluster that a sentence contains. */
const LONGEST_TEXT = 600
const LONGEST_NAME = 40

/** Returns a text that a sentence may contain: without misleading characters, and not too long. */
export function clipText(text: string, most = LONGEST_TEXT): string {
  const clean = text.slice(0, most + 1).replace(MISLEADING, '?')
  return clean.length > most ? `${clean.slice(0, most)}…` : clean
}

/** Returns the name of a cluster for a sentence. A name that could be read as a part of the sentence is quoted. */
export const quoteName = (name: string): string =>
  name === '' || /^[\w.:-]{1,64}$/.test(name) ? name : `“${clipText(name, LONGEST_NAME)}”`
