/**
 * Calls `work` after some milliseconds.
 * @returns a function that cancels the timer
 */
export function callAfterDelay(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}
