import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { parseJsonObject } from '../../../../shared/values/json.ts'
import { sendBusEvent } from '../faults/bus-events.ts'
import { createJsonAction } from './json-protocol.ts'

const entries = v.pipe(v.array(v.unknown()), v.minLength(1), v.maxLength(10))

const entry = v.object({
  Source: v.pipe(v.string(), v.nonEmpty()),
  DetailType: v.pipe(v.string(), v.nonEmpty()),
  Detail: v.pipe(
    v.string(),
    v.transform(parseJsonObject),
    v.check(detail => detail !== undefined),
  ),
  /** seconds */
  Time: v.optional(v.number()),
  EventBusName: v.optional(v.literal('default'), 'default'),
})

/** PutEvents (EventBridge API reference) on the default bus. Each entry is accepted, or gets an error. */
export const putBusEvents = createJsonAction(
  v.object({ Entries: entries }),
  ({ aws, caller, region, input: { Entries: given } }) => {
    const Entries = given.map(one => {
      const read = v.safeParse(entry, one)
      if (!read.success) return refused(String(read.issues[0].path?.[0]?.key))
      const { Source: source, DetailType: detailType, Detail: detail, Time } = read.output
      const time = new Date(Time === undefined ? aws.now() : Time * 1000).toISOString()
      // only AWS's services send events with such a source
      if (source.startsWith('aws.')) return FOREIGN
      const event = { account: caller.account, region, source, detailType, time, detail }
      sendBusEvent(aws, event)
      return { EventId: randomUUID(), ErrorCode: undefined }
    })
    return { FailedEntryCount: Entries.filter(one => one.ErrorCode !== undefined).length, Entries }
  },
)

const FOREIGN = { ErrorCode: 'NotAuthorizedForSource', ErrorMessage: 'Not authorized for the source.' }

const refused = (member: string) => ({
  ErrorCode: member === 'Detail' ? 'MalformedDetail' : 'InvalidArgument',
  ErrorMessage: `Parameter ${member} is not valid`,
})
