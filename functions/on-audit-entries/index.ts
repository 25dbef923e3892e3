import { gunzipSync } from 'node:zlib'
import * as v from 'valibot'
import { readEnvironment } from '../../shared/adapters/aws/environment.ts'
import { putEvents } from '../../shared/adapters/aws/log-group.ts'

const { auditGroup } = readEnvironment()

const delivered = v.object({ awslogs: v.object({ data: v.string() }) })
const content = v.object({
  logGroup: v.string(),
  logStream: v.string(),
  logEvents: v.array(v.object({ timestamp: v.number(), message: v.string() })),
})

/** Carries the audit entries that functions print to the log group of the audit log. */
export const handler = async (event: unknown): Promise<void> => {
  const { awslogs } = v.parse(delivered, event)
  const { logGroup, logStream, logEvents } = v.parse(
    content,
    JSON.parse(gunzipSync(Buffer.from(awslogs.data, 'base64')).toString('utf8')),
  )
  // names of streams may hold neither ":" nor "*"
  await putEvents(auditGroup, `${logGroup}/${logStream}`.replace(/[:*]/g, '-'), logEvents)
}
