import { randomUUID } from 'node:crypto'
import { appendEvents, type LogEvent, streamsOf } from '../drills/log-groups.ts'
import { awsError } from '../wire/trouble.ts'
import { type JsonInput, requiredText } from './json-protocol.ts'
import type { Call } from './service.ts'

/** CreateLogStream (CloudWatch Logs API reference); its group need not have been created. */
export function createLogStream(call: Call<JsonInput>): undefined {
  const streams = streamsIn(call)
  const name = requiredText(call.input, 'logStreamName')
  if (streams.has(name)) {
    throw awsError(400, 'ResourceAlreadyExistsException', 'The specified log stream already exists')
  }
  streams.set(name, [])
}

/** PutLogEvents (CloudWatch Logs API reference). */
export function putLogEvents(call: Call<JsonInput>): object {
  const name = requiredText(call.input, 'logStreamName')
  const events = streamsIn(call).get(name)
  if (events === undefined) {
    throw awsError(400, 'ResourceNotFoundException', 'The specified log stream does not exist.')
  }
  appendEvents(events, eventsOf(call.input, name))
  return { nextSequenceToken: randomUUID() }
}

const streamsIn = ({ world, caller, region, input }: Call<JsonInput>): Map<string, LogEvent[]> =>
  streamsOf(world.drills.logGroups, {
    account: caller.account,
    region,
    group: requiredText(input, 'logGroupName'),
  })

function eventsOf(input: JsonInput, stream: string): LogEvent[] {
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
  return given.map(({ timestamp, message }) => ({ stream, timestamp, message }))
}

const isEvent = (value: unknown): value is Pick<LogEvent, 'timestamp' | 'message'> =>
  typeof value === 'object' &&
  value !== null &&
  'timestamp' in value &&
  typeof value.timestamp === 'number' &&
  'message' in value &&
  typeof value.message === 'string'
