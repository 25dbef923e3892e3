import { randomUUID } from 'node:crypto'
import { appendEvents, type KeptLogEvent, streamsOf } from '../faults/log-groups.ts'
import { awsError } from '../wire/errors.ts'
import { type JsonInput, requiredText } from './json-protocol.ts'
import type { ActionCall } from './service.ts'

/** CreateLogStream (CloudWatch Logs API reference); its group need not have been created. */
export function createLogStream(call: ActionCall<JsonInput>): undefined {
  const streams = streamsIn(call)
  const name = requiredText(call.input, 'logStreamName')
  if (streams.has(name)) {
    throw awsError(400, 'ResourceAlreadyExistsException', 'The specified log stream already exists')
  }
  streams.set(name, [])
}

const HOUR_MS = 3_600_000
const OLDEST_EVENT_MS = 14 * 24 * HOUR_MS
const NEWEST_EVENT_MS = 2 * HOUR_MS

/** PutLogEvents (CloudWatch Logs API reference): what is too old or too new is told, the rest is kept. */
export function putLogEvents(call: ActionCall<JsonInput>): object {
  const name = requiredText(call.input, 'logStreamName')
  const events = streamsIn(call).get(name)
  if (events === undefined) {
    throw awsError(400, 'ResourceNotFoundException', 'The specified log stream does not exist.')
  }
  const given = eventsOf(call.input, name)
  const now = call.aws.now()
  const tooOld = given.filter(one => one.timestamp < now - OLDEST_EVENT_MS).length
  const taken = given.filter(one => one.timestamp <= now + NEWEST_EVENT_MS).length
  appendEvents(events, given.slice(tooOld, taken))
  const rejected = {
    ...(tooOld > 0 ? { tooOldLogEventEndIndex: tooOld } : {}),
    ...(taken < given.length ? { tooNewLogEventStartIndex: taken } : {}),
  }
  return {
    nextSequenceToken: randomUUID(),
    ...(Object.keys(rejected).length > 0 ? { rejectedLogEventsInfo: rejected } : {}),
  }
}

const streamsIn = ({ aws, caller, region, input }: ActionCall<JsonInput>): Map<string, KeptLogEvent[]> =>
  streamsOf(aws.arranged.logGroups, {
    account: caller.account,
    region,
    group: requiredText(input, 'logGroupName'),
  })

function eventsOf(input: JsonInput, stream: string): KeptLogEvent[] {
  const given: unknown = input['logEvents']
  if (!Array.isArray(given) || given.length === 0 || !given.every(isEvent)) {
    throw awsError(400, 'InvalidParameterException', 'logEvents must be a list of at least one event.')
  }
  const inOrder = given.every((event, index) => event.timestamp >= (given[index - 1]?.timestamp ?? 0))
  if (!inOrder) {
    throw awsError(
      400,
      'InvalidParameterException',
      'Log events in a single PutLogEvents request must be in chronological order.',
    )
  }
  if ((given.at(-1)?.timestamp ?? 0) - (given[0]?.timestamp ?? 0) > 24 * HOUR_MS) {
    throw awsError(
      400,
      'InvalidParameterException',
      'The batch of log events in a single PutLogEvents request cannot span more than 24 hours.',
    )
  }
  return given.map(({ timestamp, message }) => ({ stream, timestamp, message }))
}

const isEvent = (value: unknown): value is Pick<KeptLogEvent, 'timestamp' | 'message'> =>
  typeof value === 'object' &&
  value !== null &&
  'timestamp' in value &&
  typeof value.timestamp === 'number' &&
  'message' in value &&
  typeof value.message === 'string'
