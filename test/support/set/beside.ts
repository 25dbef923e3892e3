import type { ClusterSet } from './set.ts'

/** Milliseconds until a DynamoDB stream reports a write, and the length of a run of the puller. */
const STREAM_MS = 100
const MINUTE_MS = 60_000
const RUN_MS = 112_000

/**
 * Runs the work that AWS starts between requests: minute schedules and DynamoDB streams.
 * @param unheard clusters whose streams deliver nothing
 * @param hashes whether the minute schedule also computes hashes of trees
 * @returns a function that stops schedules and streams, and waits until all running work has ended
 */
export function besideRequests(
  set: ClusterSet,
  { unheard = [], hashes = false }: { unheard?: readonly string[]; hashes?: boolean } = {},
): () => Promise<void> {
  let over = false
  const every = async (ms: number, work: () => void): Promise<void> => {
    while (!over) {
      work()
      await set.clock.sleep(ms)
    }
  }
  const schedules = every(MINUTE_MS, () => {
    for (const member of set.members) {
      set.start(() => (hashes ? member.scheduled() : member.minute()))
      set.start(() => member.pull(RUN_MS, { source: 'aws.events' }))
    }
  })
  let seen = set.recording.history.length
  const streams = every(STREAM_MS, () => {
    const news = set.recording.history.slice(seen)
    seen += news.length
    for (const { name, streamed } of set.members) {
      const records = news.flatMap(entry =>
        entry.what === 'written' && entry.cluster === name && !unheard.includes(name)
          ? entry.changes.filter(({ pk, before }) => pk.startsWith('j#') && !before).map(recordOf)
          : [],
      )
      if (records.length > 0) set.start(() => streamed(records))
    }
  })
  return async () => {
    over = true
    await Promise.all([schedules, streams, set.settled()])
  }
}

const recordOf = ({ pk, sk }: { pk: string; sk: string }): object => ({
  eventName: 'INSERT',
  dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } } },
})
