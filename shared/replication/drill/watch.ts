/** The result of watching two clusters' health. */
export interface ServingInterruptions {
  /** highest number of clusters that served at one moment */
  mostAtOnce: number
  /** longest time in milliseconds without a serving cluster */
  longestGap: number
  /** `witness` has the answers when several clusters served, and the time of these calls */
  witness?: string
}

/**
 * Watches which clusters serve. Two clusters count as serving at the same time only if a second call to both
 * confirms it, because the first answer may be older than the moment when the other cluster began to serve.
 * @param serving calls all clusters, and returns one answer for each serving cluster
 * @returns a function that ends the watch after one more look at the clusters
 */
export function watchServing(
  serving: () => Promise<readonly string[]>,
  clock: { now(): number; sleep(ms: number): Promise<unknown> },
  everyMs: number,
): () => Promise<ServingInterruptions> {
  const watched: ServingInterruptions = { mostAtOnce: 0, longestGap: 0 }
  let isOver = false
  const look = async (): Promise<ServingInterruptions> => {
    let served = clock.now()
    for (;;) {
      const isLast = isOver
      const asked = clock.now()
      let answers = await serving()
      const now = clock.now()
      if (answers.length > 1) {
        const again = await serving()
        if (again.length > 1)
          watched.witness ??= [new Date(asked).toISOString(), ...answers, ...again].join(' ')
        answers = again
      }
      watched.mostAtOnce = Math.max(watched.mostAtOnce, answers.length)
      if (answers.length > 0 || isLast) watched.longestGap = Math.max(watched.longestGap, now - served)
      if (answers.length > 0) served = now
      if (isLast) return watched
      await clock.sleep(Math.max(0, everyMs - (clock.now() - asked)))
    }
  }
  const looking = look()
  return () => {
    isOver = true
    return looking
  }
}
