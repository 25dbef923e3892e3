import { randomUUID } from 'node:crypto'
import { failed, ok, type Result } from '../../../../shared/values/result.ts'
import { type KeptBusEvent, keepBusEvent } from '../faults/bus-events.ts'
import { awsError } from '../wire/errors.ts'
import type { JsonInput } from './json-protocol.ts'
import type { ActionCall } from './service.ts'

const MOST_ENTRIES = 10

interface FailedEntry {
  ErrorCode: string
  ErrorMessage: string
}

/** PutEvents (EventBridge API reference), on the default bus: each entry is taken, or told why not. */
export function putBusEvents({ aws, caller, region, input }: ActionCall<JsonInput>): object {
  const given: unknown = input['Entries']
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_ENTRIES)
    throw awsError(400, 'ValidationException', `Entries must be a list of 1 to ${MOST_ENTRIES} members.`)
  const entries = given.map(entry => {
    const event = eventIn(Object(entry) as Record<string, unknown>, aws.now())
    if (!event.ok) return event.fault
    const kept = { account: caller.account, region, ...event.value }
    keepBusEvent(aws.arranged.busEvents, kept)
    aws.onBusEvent?.(kept)
    return { EventId: randomUUID(), ErrorCode: undefined }
  })
  return { FailedEntryCount: entries.filter(one => one.ErrorCode !== undefined).length, Entries: entries }
}

function eventIn(
  { Source, DetailType, Detail, Time, EventBusName = 'default' }: Record<string, unknown>,
  now: number,
): Result<Omit<KeptBusEvent, 'account' | 'region'>, FailedEntry> {
  if (typeof Source !== 'string' || Source === '') return invalid('Parameter Source is not valid')
  if (typeof DetailType !== 'string' || DetailType === '') return invalid('Parameter DetailType is not valid')
  if (EventBusName !== 'default') return invalid('Event bus does not exist')
  const detail = typeof Detail === 'string' ? objectIn(Detail) : undefined
  if (!detail) return failed({ ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' })
  const at = typeof Time === 'number' ? Time * 1000 : now
  return ok({ source: Source, detailType: DetailType, time: new Date(at).toISOString(), detail })
}

const invalid = (ErrorMessage: string) => failed<FailedEntry>({ ErrorCode: 'InvalidArgument', ErrorMessage })

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
