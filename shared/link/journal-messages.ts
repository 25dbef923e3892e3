import { type Cell, decodeBody, encodeBody } from '../journal/cell.ts'
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
import { epochIn, eras, formOf, lineOf, safeInteger } from './forms.ts'
import type { CellsAnswer, CellsRequest, EchoAnswer, EchoRequest } from './source.ts'

/* What a secondary needs all the time: heartbeats, cells, and to be told that there are some. */

/** What a primary cannot tell but by the envelope of the answer. */
export type ToldEcho = Omit<EchoAnswer, 'time' | 'took' | 'skew'>

type EchoQuestion = EchoRequest & { format: number; took: number }

export const echoForms = {
  question: formOf(
    EchoRequestSchema,
    ({ position, took, ...one }: EchoQuestion) => ({
      ...one,
      took: BigInt(took),
      position: { epoch: position.epoch, seq: BigInt(position.seq) },
    }),
    ({ position, state, format, took, address, apiAddress, ownTerm }): EchoQuestion => ({
      position: { epoch: position?.epoch ?? '', seq: safeInteger(position?.seq ?? 0n) },
      ...{ state, format, took: safeInteger(took), address, apiAddress, ownTerm },
    }),
  ),
  answer: formOf(
    EchoResponseSchema,
    ({ seq, frontier, line, canaryAt, ...one }: ToldEcho) => ({
      ...one,
      seq: BigInt(seq),
      frontier: BigInt(frontier),
      line: eras(line),
      canaryAt: BigInt(canaryAt),
    }),
    (one): ToldEcho => ({
      ...{ seq: safeInteger(one.seq), frontier: safeInteger(one.frontier) },
      ...{ canaryAt: safeInteger(one.canaryAt), epoch: epochIn(one.epoch), line: lineOf(one.line) },
      ...{ addresses: one.addresses, met: one.met, format: one.format },
      ...{ apiAddress: one.apiAddress, term: one.term },
    }),
  ),
}

const cellForm = ({ epoch: name, seq, id, at, body, noop, root }: Cell) =>
  defined({
    ...{ epoch: name, seq: BigInt(seq), id, at: BigInt(at) },
    body: noop ? undefined : encodeBody(body),
    root,
  })

function cellOf({ epoch: name, seq, id, at, body, root }: JournalCell): Cell {
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

export const cellsForms = {
  question: formOf(
    CellsRequestSchema,
    ({ line, from, bytes }: CellsRequest) => ({ line: eras(line), from: BigInt(from), bytes }),
    ({ line, from, bytes }): CellsRequest => ({ line: lineOf(line), from: safeInteger(from), bytes }),
  ),
  answer: formOf(
    CellsResponseSchema,
    (answer: CellsAnswer) =>
      'diverged' in answer
        ? { outcome: { case: 'diverged' as const, value: BigInt(answer.diverged) } }
        : 'trimmed' in answer
          ? { outcome: { case: 'trimmed' as const, value: BigInt(answer.trimmed) } }
          : {
              outcome: {
                case: 'run' as const,
                value: {
                  cells: answer.cells.map(cellForm),
                  line: eras(answer.line),
                  frontier: BigInt(answer.frontier),
                },
              },
            },
    ({ outcome }): CellsAnswer => {
      if (outcome.case === 'diverged') return { diverged: safeInteger(outcome.value) }
      if (outcome.case === 'trimmed') return { trimmed: safeInteger(outcome.value) }
      if (outcome.case === undefined) throw new Error('an answer is missing')
      const { cells, line, frontier } = outcome.value
      return { cells: cells.map(cellOf), line: lineOf(line), frontier: safeInteger(frontier) }
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
