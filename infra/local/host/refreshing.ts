/** Milliseconds between two refreshes of a host that is not busy. */
const REFRESH_PAUSE_MS = 500
/** A busy host rests so many times as long as the refresh before took: clients come first. */
const RESTS = 4

/**
 * Brings the hashes of the tree up to date again and again. An embedded host pays nothing for reads, so its root is current
 * within a second, where AWS computes one every ten minutes at least.
 * @param refresh rejects where the function fails, which its log tells
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
