/** A span of time in words: `0 s`, `59 s`, `3 min`, `5 h`, `12 days`. @param ms less than none counts as none */
export function printSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`
}

/** A lag in words. */
export const printLag = (ms: number): string => (ms < 1000 ? 'less than a second' : printSpan(ms))

/** How many there are, with the word for one and for several. */
export const printCount = (count: number, one: string, several = `${one}s`): string =>
  `${count} ${count === 1 ? one : several}`
