import { decodeBody, encodeBody, type JournalEntry } from '../journal/journal-entry.ts'
import { defined } from '../values/defined.ts'
import {
  CellsRequestSchema,
  CellsResponseSchema,
  EchoRequestSchema,
  EchoResponseSchema,
  type JournalCell,
  NotifyRequestSchema,
  NotifyResponseSchema,
} from '../wire/gen/link_pb.ts'
import { epochIn, eras, formOf, lineageOf, safeInteger } from './forms.ts'
import type { EntriesAnswer, EntriesRequest, HeartbeatAnswer, HeartbeatRequest } from './source.ts'

/* Messages that go all the time: heartbeats, journal entries, and notices of new ones. */

/** Fields of a heartbeat's answer that follow from its envelope. */
export type HeartbeatReply = Omit<HeartbeatAnswer, 'time' | 'took' | 'skew'>

type HeartbeatQuestion = HeartbeatRequest & { format: number; took: number }

export const heartbeatForms = {
  question: formOf(
    EchoRequestSchema,
    ({ position, took, ...one }: HeartbeatQuestion) => ({
      ...one,
      took: BigInt(took),
      position: { epoch: position.epoch, seq: BigInt(position.seq) },
    }),
    ({ position, state, format, took, address, apiAddress, ownTerm, maxEpoch }): HeartbeatQuestion => ({
      position: { epoch: position?.epoch ?? '', seq: safeInteger(position?.seq ?? 0n) },
      state,
      format,
      took: safeInteger(took),
      address,
      apiAddress,
      ownTerm,
      maxEpoch,
    }),
  ),
  answer: formOf(
    EchoResponseSchema,
    ({ seq, frontier, lineage, canaryAt, ...one }: HeartbeatReply) => ({
      ...one,
      seq: BigInt(seq),
      frontier: BigInt(frontier),
      line: eras(lineage),
      canaryAt: BigInt(canaryAt),
    }),
    (one): HeartbeatReply => ({
      seq: safeInteger(one.seq),
      frontier: safeInteger(one.frontier),
      canaryAt: safeInteger(one.canaryAt),
      epoch: epochIn(one.epoch),
      lineage: lineageOf(one.line),
      addresses: one.addresses,
      met: one.met,
      format: one.format,
      apiAddress: one.apiAddress,
      term: one.term,
    }),
  ),
}

const entryForm = ({ epoch: name, seq, id, at, body, noop, root }: JournalEntry) =>
  defined({
    epoch: name,
    seq: BigInt(seq),
    id,
    at: BigInt(at),
    body: noop ? undefined : encodeBody(body),
    root,
  })

function entryOf({ epoch: name, seq, id, at, body, root }: JournalCell): JournalEntry {
  const position = { epoch: epochIn(name), seq: safeInteger(seq) }
  return defined({
    ...position,
    id,
    at: safeInteger(at),
    body: body === undefined ? [] : decodeBody(body, position),
    noop: body === undefined || undefined,
    root,
  })
}

export const entriesForms = {
  question: formOf(
    CellsRequestSchema,
    ({ lineage, from, bytes }: EntriesRequest) => ({ line: eras(lineage), from: BigInt(from), bytes }),
    ({ line, from, bytes }): EntriesRequest => ({ lineage: lineageOf(line), from: safeInteger(from), bytes }),
  ),
  answer: formOf(
    CellsResponseSchema,
    (answer: EntriesAnswer) => {
      switch (answer.kind) {
        case 'diverged':
          return { outcome: { case: answer.kind, value: BigInt(answer.forkPoint) } }
        case 'trimmed':
          return { outcome: { case: answer.kind, value: BigInt(answer.retainedFrom) } }
        case 'entries': {
          const { entries, lineage, frontier } = answer
          const value = { cells: entries.map(entryForm), line: eras(lineage), frontier: BigInt(frontier) }
          return { outcome: { case: 'run' as const, value } }
        }
      }
    },
    ({ outcome }): EntriesAnswer => {
      if (outcome.case === 'diverged') return { kind: outcome.case, forkPoint: safeInteger(outcome.value) }
      if (outcome.case === 'trimmed') return { kind: outcome.case, retainedFrom: safeInteger(outcome.value) }
      if (outcome.case === undefined) throw new Error('an answer is missing')
      const { cells: entries, line, frontier } = outcome.value
      return {
        kind: 'entries',
        entries: entries.map(entryOf),
        lineage: lineageOf(line),
        frontier: safeInteger(frontier),
      }
    },
  ),
}

export const notifyForms = {
  question: formOf(
    NotifyRequestSchema,
    (_: Record<never, never>) => ({}),
    () => ({}),
  ),
  answer: formOf(
    NotifyResponseSchema,
    (_: Record<never, never>) => ({}),
    () => ({}),
  ),
}
