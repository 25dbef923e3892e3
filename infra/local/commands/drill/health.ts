import type { Host } from '../../host/host.ts'

const EVERY_MS = 20

/** What sampling the health of two clusters has shown. */
export interface Watched {
  /** clusters that answered 200 at one moment, at most */
  mostAtOnce: number
  /** milliseconds, between two samples at which a cluster served, that were longest */
  longestGap: number
  samples: number
  /** what several said when they answered 200 at one moment, and when they had been asked */
  witness?: string
}

/**
 * Samples `sys/health` of clusters every 20 ms. Two answers of 200 count as one moment only where neither cluster had
 * answered otherwise between them: a cluster that was asked before it closed says nothing of the moment after.
 * @returns ends the watch
 */
export function watchHealth(clusters: readonly Pick<Host, 'base_url'>[]): () => Promise<Watched> {
  let ended = false
  let served = Date.now()
  const watched: Watched = { mostAtOnce: 0, longestGap: 0, samples: 0 }
  const round = async () => {
    const asked = Date.now()
    const answers = await Promise.all(clusters.map(serves))
    const now = Date.now()
    watched.samples += 1
    // what was asked one after the other is asked once more: a change may have come between
    let many = answers.filter(one => one !== undefined).length
    if (many > 1) {
      const again = await Promise.all(clusters.map(serves))
      many = again.filter(one => one !== undefined).length
      if (many > 1) watched.witness ??= [new Date(asked).toISOString(), ...answers, ...again].join(' ')
    }
    watched.mostAtOnce = Math.max(watched.mostAtOnce, many)
    if (many > 0) {
      watched.longestGap = Math.max(watched.longestGap, now - served)
      served = now
    }
    await new Promise(resolve => setTimeout(resolve, Math.max(0, EVERY_MS - (Date.now() - asked))))
  }
  const running = (async () => {
    while (!ended) await round()
  })()
  return async () => {
    ended = true
    await running
    return watched
  }
}

/** What a cluster says that serves. */
const serves = async ({ base_url }: Pick<Host, 'base_url'>): Promise<string | undefined> => {
  const answer = await fetch(`${base_url}/sys/health`).catch(() => undefined)
  const text = await answer?.text().catch(() => undefined)
  return answer?.status === 200 ? (text ?? '') : undefined
}
