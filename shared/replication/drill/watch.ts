/** What watching the health of two clusters has shown. */
export interface Watched {
  /** clusters that served at one moment, at most */
  mostAtOnce: number
  /** longest time in milliseconds in which no cluster served */
  longestGap: number
  samples: number
  /** what several answered at one moment, and when they had been asked */
  witness?: string
}

/**
 * Watches which clusters serve. Two count as serving at one moment only where both answer so again: one that was asked
 * before it closed says nothing of the moment after.
 * @param serving asks all clusters, and returns an answer of each that serves
 * @returns ends the watch after one more look
 */
export function watchServing(
  serving: () => Promise<readonly string[]>,
  clock: { now(): number; sleep(ms: number): Promise<unknown> },
  everyMs: number,
): () => Promise<Watched> {
  const watched: Watched = { mostAtOnce: 0, longestGap: 0, samples: 0 }
  let isOver = false
  const look = async (): Promise<Watched> => {
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
      watched.samples += 1
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
