import { decodeEntryBody, encodeEntryBody, type JournalEntry } from '../journal/journal-entry.ts'
import { defined } from '../values/defined.ts'
import {
  EntriesRequestSchema,
  EntriesResponseSchema,
  HeartbeatRequestSchema,
  HeartbeatResponseSchema,
  type JournalEntry as JournalEntryMessage,
  NotifyRequestSchema,
  NotifyResponseSchema,
} from '../wire/gen/link_pb.ts'
import {
  createMessageForm,
  decodeLineage,
  encodeLineage,
  type MessageFields,
  parseMessageEpoch,
} from './forms.ts'
import type { EntriesAnswer, EntriesRequest, HeartbeatAnswer, HeartbeatRequest } from './source.ts'

/* Messages of the frequent methods: heartbeats, journal entries, and notices of new entries. */

/** A heartbeat's answer without the fields that the caller computes from the call. */
export type HeartbeatReply = Omit<HeartbeatAnswer, 'time' | 'roundTripMs' | 'skewMs'>

type HeartbeatQuestion = HeartbeatRequest & { format: number; roundTripMs: number }

export const heartbeatMessageForms = {
  question: createMessageForm(
    HeartbeatRequestSchema,
    ({ position, roundTripMs, ...one }: HeartbeatQuestion) => ({
      ...one,
      roundTripMs: BigInt(roundTripMs),
      position: { epoch: position.epoch, seq: BigInt(position.seq) },
    }),
    ({ position = { epoch: '', seq: 0 }, ...one }): HeartbeatQuestion => ({ ...one, position }),
  ),
  answer: createMessageForm(
    HeartbeatResponseSchema,
    ({ seq, frontier, lineage, canaryAt, ...one }: HeartbeatReply) => ({
      ...one,
      seq: BigInt(seq),
      frontier: BigInt(frontier),
      lineage: encodeLineage(lineage),
      canaryAt: BigInt(canaryAt),
    }),
    ({ epoch, lineage, ...one }): HeartbeatReply => ({
      ...one,
      epoch: parseMessageEpoch(epoch),
      lineage: decodeLineage(lineage),
    }),
  ),
}

const entryForm = ({ epoch, seq, id, at, body, noop, root }: JournalEntry) =>
  defined({
    epoch,
    seq: BigInt(seq),
    id,
    at: BigInt(at),
    body: noop ? undefined : encodeEntryBody(body),
    root,
  })

function entryOf({ epoch, seq, body, ...one }: MessageFields<JournalEntryMessage>): JournalEntry {
  const position = { epoch: parseMessageEpoch(epoch), seq }
  return defined({
    ...position,
    ...one,
    body: body === undefined ? [] : decodeEntryBody(body, position),
    noop: body === undefined || undefined,
  })
}

export const entriesMessageForms = {
  question: createMessageForm(
    EntriesRequestSchema,
    ({ lineage, after, maxBytes }: EntriesRequest) => ({
      lineage: encodeLineage(lineage),
      after: BigInt(after),
      maxBytes,
    }),
    ({ lineage, ...one }): EntriesRequest => ({ ...one, lineage: decodeLineage(lineage) }),
  ),
  answer: createMessageForm(
    EntriesResponseSchema,
    (answer: EntriesAnswer) => {
      switch (answer.kind) {
        case 'diverged':
          return { outcome: { case: 'forkPoint' as const, value: BigInt(answer.forkPoint) } }
        case 'trimmed':
          return { outcome: { case: 'retainedFrom' as const, value: BigInt(answer.retainedFrom) } }
        case 'entries': {
          const { entries, lineage, frontier } = answer
          const value = {
            entries: entries.map(entryForm),
            lineage: encodeLineage(lineage),
            frontier: BigInt(frontier),
          }
          return { outcome: { case: 'entries' as const, value } }
        }
      }
    },
    ({ outcome }): EntriesAnswer => {
      if (outcome.case === 'forkPoint') return { kind: 'diverged', forkPoint: outcome.value }
      if (outcome.case === 'retainedFrom') return { kind: 'trimmed', retainedFrom: outcome.value }
      if (outcome.case === undefined) throw new Error('the message has no answer')
      const { entries, lineage, frontier } = outcome.value
      return { kind: 'entries', entries: entries.map(entryOf), lineage: decodeLineage(lineage), frontier }
    },
  ),
}

export const notifyMessageForms = {
  question: createMessageForm(
    NotifyRequestSchema,
    (_: Record<never, never>) => ({}),
    () => ({}),
  ),
  answer: createMessageForm(
    NotifyResponseSchema,
    (_: Record<never, never>) => ({}),
    () => ({}),
  ),
}
