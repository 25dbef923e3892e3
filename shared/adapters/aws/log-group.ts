import { ownService } from './client.ts'

export interface LogEvent {
  /** epoch milliseconds */
  timestamp: number
  message: string
}

/** The provider's limits of one call. */
const MOST_EVENTS = 10_000
const MOST_BYTES = 1_000_000
const OVERHEAD = 26

/** Writes events to a stream of a log group, making the stream when it is not there. */
export async function putEvents(group: string, stream: string, events: readonly LogEvent[]): Promise<void> {
  const sdk = await import('@aws-sdk/client-cloudwatch-logs')
  const client = new sdk.CloudWatchLogsClient(ownService())
  const name = { logGroupName: group, logStreamName: stream }
  for (const logEvents of batches([...events].sort((a, b) => a.timestamp - b.timestamp))) {
    const put = () => client.send(new sdk.PutLogEventsCommand({ ...name, logEvents }))
    await put().catch(async (error: unknown) => {
      if (!(error instanceof sdk.ResourceNotFoundException)) throw error
      await client.send(new sdk.CreateLogStreamCommand(name)).catch((made: unknown) => {
        if (!(made instanceof sdk.ResourceAlreadyExistsException)) throw made
      })
      await put()
    })
  }
}

function batches(events: readonly LogEvent[]): LogEvent[][] {
  const all: LogEvent[][] = [[]]
  let bytes = 0
  for (const event of events) {
    const size = Buffer.byteLength(event.message) + OVERHEAD
    if (bytes + size > MOST_BYTES || (all.at(-1)?.length ?? 0) === MOST_EVENTS) {
      all.push([])
      bytes = 0
    }
    all.at(-1)?.push(event)
    bytes += size
  }
  return all.filter(batch => batch.length > 0)
}
