import { gunzipSync } from 'node:zlib'
import * as v from 'valibot'
import { isObject, parseJsonObject } from '../../values/json.ts'
import { type CloudWatchLogEvent, putCloudWatchLogEvents } from './log-group.ts'

const delivered = v.object({ awslogs: v.object({ data: v.string() }) })
const content = v.object({
  messageType: v.string(),
  logGroup: v.string(),
  logStream: v.string(),
  logEvents: v.array(v.object({ timestamp: v.number(), message: v.string() })),
})

/** Limit of an inflated delivery of log events, bytes. Lambda delivers at most 6 MB compressed. */
const LARGEST = 32 * 2 ** 20

/**
 * Copies the audit entries that functions have printed to the log group of the audit log, into a stream named after
 * the function's own stream.
 * @param event as a subscription of CloudWatch Logs delivers it
 * @throws Error when not all entries were written: Lambda repeats the delivery, and finally sends it to the
 * dead-letter queue
 */
export async function carryAuditEntries(event: unknown, group: string): Promise<void> {
  const { awslogs } = v.parse(delivered, event)
  const { messageType, logStream, logEvents } = v.parse(
    content,
    JSON.parse(
      gunzipSync(Buffer.from(awslogs.data, 'base64'), { maxOutputLength: LARGEST }).toString('utf8'),
    ),
  )
  // Control messages only check that CloudWatch Logs can reach the function.
  if (messageType === 'CONTROL_MESSAGE') return
  // Stream names may contain neither ":" nor "*".
  const rejected = await putCloudWatchLogEvents(
    group,
    logStream.replace(/[:*]/g, '-'),
    logEvents.map(unwrapEntry),
  )
  if (rejected > 0)
    throw new Error(
      `${rejected} of ${logEvents.length} audit entries are too old or too new for the audit log`,
    )
}

/** Returns the audit entry without the runtime's frame around it. A message of another shape stays unchanged. */
function unwrapEntry({ timestamp, message }: CloudWatchLogEvent): CloudWatchLogEvent {
  const entry = parseJsonObject(message)?.['message']
  return { timestamp, message: isObject(entry) ? JSON.stringify(entry) : message }
}
