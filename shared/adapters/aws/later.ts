/** Does something after some milliseconds. @returns gives it up */
export function callLater(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}
