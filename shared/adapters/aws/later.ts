/**
 * Calls `work` after some milliseconds.
 * @returns cancels it
 */
export function callAfterDelay(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}
