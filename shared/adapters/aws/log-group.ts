import {
  CloudWatchLogsClient,
  CreateLogStreamCommand,
  PutLogEventsCommand,
  ResourceAlreadyExistsException,
  ResourceNotFoundException,
} from '@aws-sdk/client-cloudwatch-logs'
import { buildServiceSettings } from './client.ts'

export interface CloudWatchLogEvent {
  /** epoch milliseconds */
  timestamp: number
  message: string
}

/** The limits of one `PutLogEvents` call. */
const MOST_EVENTS = 10_000
const MOST_BYTES = 1_000_000
const BATCH_SPAN_MS = 24 * 3_600_000
const OVERHEAD = 26

/**
 * Writes events to a stream of a log group, and creates the stream if it does not exist.
 * @returns the number of events that CloudWatch Logs rejected because they are too old or too new; the other events
 * are written
 */
export async function putCloudWatchLogEvents(
  group: string,
  stream: string,
  events: readonly CloudWatchLogEvent[],
): Promise<number> {
  const client = new CloudWatchLogsClient(buildServiceSettings('cloudwatch_logs'))
  const name = { logGroupName: group, logStreamName: stream }
  let rejected = 0
  for (const logEvents of batches([...events].sort((a, b) => a.timestamp - b.timestamp))) {
    const put = () => client.send(new PutLogEventsCommand({ ...name, logEvents }))
    const { rejectedLogEventsInfo: info } = await put().catch(async (error: unknown) => {
      if (!(error instanceof ResourceNotFoundException)) throw error
      await client.send(new CreateLogStreamCommand(name)).catch((made: unknown) => {
        if (!(made instanceof ResourceAlreadyExistsException)) throw made
      })
      return put()
    })
    const tooOld = Math.max(info?.tooOldLogEventEndIndex ?? 0, info?.expiredLogEventEndIndex ?? 0)
    rejected += tooOld + logEvents.length - (info?.tooNewLogEventStartIndex ?? logEvents.length)
  }
  return rejected
}

function batches(events: readonly CloudWatchLogEvent[]): CloudWatchLogEvent[][] {
  const all: CloudWatchLogEvent[][] = []
  let bytes = 0
  for (const event of events) {
    const size = Buffer.byteLength(event.message) + OVERHEAD
    const batch = all.at(-1)
    const fits =
      batch !== undefined &&
      batch.length < MOST_EVENTS &&
      bytes + size <= MOST_BYTES &&
      event.timestamp - (batch[0]?.timestamp ?? 0) < BATCH_SPAN_MS
    if (fits) batch.push(event)
    else all.push([event])
    bytes = fits ? bytes + size : size
  }
  return all
}
