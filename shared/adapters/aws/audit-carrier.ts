import { gunzipSync } from 'node:zlib'
import * as v from 'valibot'
import { isObject, parseObject } from '../../values/json.ts'
import { type LogEvent, putEvents } from './log-group.ts'

const delivered = v.object({ awslogs: v.object({ data: v.string() }) })
const content = v.object({
  messageType: v.string(),
  logGroup: v.string(),
  logStream: v.string(),
  logEvents: v.array(v.object({ timestamp: v.number(), message: v.string() })),
})

/** Bytes of a delivery, unpacked: what a function is given packed is 6 MB at most. */
const LARGEST = 32 * 2 ** 20

/**
 * Carries the audit entries that functions gave to the console to the log group of the audit log, into a stream named
 * after the one they come from.
 * @param event as a subscription of CloudWatch Logs delivers it
 * @throws when not all could be written: the delivery is repeated, and at last goes to the queue of failed ones
 */
export async function carryEntries(event: unknown, group: string): Promise<void> {
  const { awslogs } = v.parse(delivered, event)
  const { messageType, logStream, logEvents } = v.parse(
    content,
    JSON.parse(
      gunzipSync(Buffer.from(awslogs.data, 'base64'), { maxOutputLength: LARGEST }).toString('utf8'),
    ),
  )
  // CloudWatch Logs sends control messages, which check that the function can be reached
  if (messageType === 'CONTROL_MESSAGE') return
  // names of streams may hold neither ":" nor "*"
  const rejected = await putEvents(group, logStream.replace(/[:*]/g, '-'), logEvents.map(unwrapEntry))
  if (rejected > 0)
    throw new Error(
      `${rejected} of ${logEvents.length} audit entries are too old or too new for the audit log`,
    )
}

/** The entry without the runtime's frame around it; what has another shape is carried as it is. */
function unwrapEntry({ timestamp, message }: LogEvent): LogEvent {
  const entry = parseObject(message)?.['message']
  return { timestamp, message: isObject(entry) ? JSON.stringify(entry) : message }
}
