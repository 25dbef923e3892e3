import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { defined } from '../../../../shared/values/defined.ts'
import { keepNewestElements } from '../faults/kept.ts'
import { type KeptLogEvent, logStreamsOf } from '../faults/log-groups.ts'
import { awsError } from '../wire/errors.ts'
import { createJsonAction } from './json-protocol.ts'
import type { ActionCall } from './service.ts'

const HOUR_MS = 3_600_000
const BATCH_SPAN_MS = 24 * HOUR_MS
/** Number of kept events of a stream. */
const KEPT_EVENTS = 10_000
const OLDEST_EVENT_MS = 14 * 24 * HOUR_MS
const NEWEST_EVENT_MS = 2 * HOUR_MS

const stream = { logGroupName: v.string(), logStreamName: v.string() }

const MALFORMED = 'InvalidParameterException'
const event = v.object({ timestamp: v.number(MALFORMED), message: v.string(MALFORMED) }, MALFORMED)
/** Events in chronological order that span at most one day. */
const logEvents = v.pipe(
  v.array(event, MALFORMED),
  v.minLength(1, MALFORMED),
  v.check(all => all.every((one, at) => one.timestamp >= (all[at - 1]?.timestamp ?? 0)), MALFORMED),
  v.check(all => (all.at(-1)?.timestamp ?? 0) - (all[0]?.timestamp ?? 0) <= BATCH_SPAN_MS, MALFORMED),
)

/** CreateLogStream (CloudWatch Logs API reference). The action also creates a missing log group. */
export const createLogStream = createJsonAction(v.object(stream), call => {
  const streams = streamsIn(call)
  if (streams.has(call.input.logStreamName))
    throw awsError(400, 'ResourceAlreadyExistsException', 'The specified log stream already exists')
  streams.set(call.input.logStreamName, [])
  return undefined
})

/**
 * PutLogEvents (CloudWatch Logs API reference). The action reports events that are too old or too new, and
 * stores all other events.
 */
export const putLogEvents = createJsonAction(v.object({ ...stream, logEvents }, MALFORMED), call => {
  const { logStreamName: name, logEvents: given } = call.input
  const events = streamsIn(call).get(name)
  if (events === undefined)
    throw awsError(400, 'ResourceNotFoundException', 'The specified log stream does not exist.')
  const now = call.aws.now()
  const tooOld = given.filter(one => one.timestamp < now - OLDEST_EVENT_MS).length
  const taken = given.filter(one => one.timestamp <= now + NEWEST_EVENT_MS).length
  keepNewestElements(
    events,
    KEPT_EVENTS,
    given.slice(tooOld, taken).map(one => ({ stream: name, ...one })),
  )
  const rejectedLogEventsInfo = defined({
    tooOldLogEventEndIndex: tooOld > 0 ? tooOld : undefined,
    tooNewLogEventStartIndex: taken < given.length ? taken : undefined,
  })
  const isWhole = Object.keys(rejectedLogEventsInfo).length === 0
  return { nextSequenceToken: randomUUID(), ...(isWhole ? {} : { rejectedLogEventsInfo }) }
})

const streamsIn = ({
  aws,
  caller,
  region,
  input,
}: ActionCall<{ logGroupName: string }>): Map<string, KeptLogEvent[]> =>
  logStreamsOf(aws.arranged.logGroups, { account: caller.account, region, group: input.logGroupName })
