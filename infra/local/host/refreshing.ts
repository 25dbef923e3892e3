/** Milliseconds between two refreshes of an idle host. */
const REFRESH_PAUSE_MS = 500
/** Pause of a busy host, as a multiple of the previous refresh's duration, so that clients come first. */
const RESTS = 4

/**
 * Updates the hashes of the Merkle tree continuously. Reads cost an embedded host nothing, so the host's root
 * is current within a second; on AWS a root is computed at most every ten minutes.
 * @param refresh refreshes the hashes; rejects if the function fails, which the function's log shows
 */
export function startRefreshing(refresh: () => Promise<unknown>): {
  close(): void
} {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  const after = (ms: number) => {
    if (isClosed) return
    timer = setTimeout(run, ms)
    timer.unref()
  }
  const run = async () => {
    const began = performance.now()
    await refresh().catch(() => undefined)
    after(Math.max(REFRESH_PAUSE_MS, RESTS * (performance.now() - began)))
  }
  after(REFRESH_PAUSE_MS)
  return {
    close: () => {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
