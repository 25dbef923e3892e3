import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import type { Statement } from '../model/link.ts'
import { type Cell, decodeBody, encodeBody } from '../replication/cell.ts'
import type { Epoch, Line, Position } from '../replication/position.ts'
import { type Key, type Kind, specOf } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { defined } from '../values/defined.ts'
import {
  ActivateRequestSchema,
  ActivateResponseSchema,
  CellsRequestSchema,
  CellsResponseSchema,
  EchoRequestSchema,
  EchoResponseSchema,
  type Era,
  FenceRequestSchema,
  FenceResponseSchema,
  HandoverRequestSchema,
  HandoverResponseSchema,
  ItemsRequestSchema,
  ItemsResponseSchema,
  type JournalCell,
  KeyringRequestSchema,
  KeyringResponseSchema,
  NotifyRequestSchema,
  NotifyResponseSchema,
  ScanRequestSchema,
  ScanResponseSchema,
  type Statement as StatementMessage,
  TreeRequestSchema,
  TreeResponseSchema,
} from './gen/link_pb.ts'
import {
  type Activated,
  type ActivateRequest,
  type CellsAnswer,
  type CellsRequest,
  type EchoAnswer,
  type EchoRequest,
  type HandedOver,
  type ItemsAnswer,
  type ItemsRequest,
  type KeyringAnswer,
  LinkRefused,
  type ScanAnswer,
  type ScanRequest,
  type TreeAnswer,
  type TreeRequest,
} from './source.ts'
import { LONGEST_CHAIN } from './statements.ts'

/** A value of ours as bytes, and back. @throws Error when reading what is no such value */
export interface Form<T> {
  write(value: T): Uint8Array
  read(bytes: Uint8Array): T
}

const form = <D extends DescMessage, T>(
  schema: D,
  to: (value: T) => Parameters<typeof create<D>>[1],
  from: (message: MessageShape<D>) => T,
): Form<T> => ({
  write: value => toBinary(schema, create(schema, to(value))),
  read: bytes => from(fromBinary(schema, bytes)),
})

const whole = (number: bigint): number => {
  const read = Number(number)
  if (!Number.isSafeInteger(read)) throw new Error('a number is too large')
  return read
}

const EPOCH = /^\d{6}\.[0-9a-f]{12}$/
const epoch = (text: string): string => {
  if (!EPOCH.test(text)) throw new Error('an epoch is none')
  return text
}

const LONGEST_LINE = 12
const eras = (line: Line) => line.map(([name, start]) => ({ epoch: name, start: BigInt(start) }))
const lineOf = (given: readonly Era[]): Line => {
  if (given.length > LONGEST_LINE) throw new Error('a lineage is too long')
  return given.map(one => [epoch(one.epoch), whole(one.start)] as const)
}

const json = (value: StoredItem | undefined): Uint8Array =>
  value ? Buffer.from(JSON.stringify(value)) : new Uint8Array()
const itemOf = (bytes: Uint8Array): StoredItem | undefined =>
  bytes.length === 0 ? undefined : (JSON.parse(Buffer.from(bytes).toString('utf8')) as StoredItem)
const itemsOf = (all: readonly Uint8Array[]): StoredItem[] =>
  all.map(itemOf).filter(item => item !== undefined)

const cellForm = ({ epoch: name, seq, id, at, body, noop, root }: Cell) =>
  defined({
    ...{ epoch: name, seq: BigInt(seq), id, at: BigInt(at) },
    body: noop ? undefined : encodeBody(body),
    root,
  })

function cellOf({ epoch: name, seq, id, at, body, root }: JournalCell): Cell {
  const position = { epoch: epoch(name), seq: whole(seq) }
  return defined({
    ...position,
    id,
    at: whole(at),
    body: body === undefined ? [] : decodeBody(body, position),
    noop: body === undefined || undefined,
    root,
  })
}

function keyOf({ kind, pk, sk }: { kind: string; pk: string; sk: string }): Key {
  if (specOf(kind as Kind)?.table !== 'data') throw new Error('no item of this kind is given away')
  return { kind: kind as Kind, pk, sk }
}

const LEVELS: readonly string[] = ['root', 'page', 'bucket'] satisfies TreeRequest['level'][]

type WithKeys<T> = T & { signingKey: Buffer; exchangeKey: Buffer; format: number }

const statementForm = ({ key, signature, ...statement }: Statement) => ({
  ...statement,
  key: Buffer.from(key, 'base64'),
  signature: Buffer.from(signature, 'base64'),
})

function readStatement(message: StatementMessage | undefined): Statement {
  if (!message) throw new Error('a statement is missing')
  const { set, by, id, key, epoch: said, signature } = message
  return {
    ...{ set, by, id, epoch: said },
    key: Buffer.from(key).toString('base64'),
    signature: Buffer.from(signature).toString('base64'),
  }
}

function chainOf(messages: readonly StatementMessage[]): Statement[] {
  if (messages.length > LONGEST_CHAIN) throw new Error('a chain of statements is too long')
  return messages.map(readStatement)
}

/** What a primary asks of another one that does not know of it, or still writes. */
export interface FenceQuestion {
  /** UUID of the claimant's cluster */
  cluster: string
  /** raw Ed25519 key that signed the call, base64 */
  key: string
  epoch: Epoch
  line: Line
  /** leads to the key */
  chain: readonly Statement[]
  addresses: readonly string[]
}

/** What a primary answers that has ended its epoch for another one. */
export interface FenceReply extends Position {
  /** about the claimant */
  voucher: Statement
  /** UUID of the fenced cluster; raw Ed25519 key that signs the answer, base64, and what leads to it */
  cluster: string
  key: string
  chain: readonly Statement[]
  addresses: readonly string[]
}

/** What a primary cannot tell but by the envelope of the answer. */
export type ToldEcho = Omit<EchoAnswer, 'time' | 'took' | 'skew'>

/** Bodies of questions and answers, by method. */
export const forms = {
  Activate: {
    question: form(
      ActivateRequestSchema,
      (one: WithKeys<ActivateRequest>) => one,
      ({ token, cluster, signingKey, exchangeKey, address, format, version }): WithKeys<ActivateRequest> => ({
        ...{ token, cluster, address, format, version },
        ...{ signingKey: Buffer.from(signingKey), exchangeKey: Buffer.from(exchangeKey) },
      }),
    ),
    answer: form(
      ActivateResponseSchema,
      ({
        line,
        recovery,
        statement,
        chain,
        ...one
      }: Omit<Activated, 'set' | 'primaryKey'> & { format: number }) => ({
        ...one,
        ...recovery,
        line: eras(line),
        statement: statementForm(statement),
        chain: chain.map(statementForm),
      }),
      ({ line, shares, threshold, statement, chain, ...one }) => {
        return {
          ...{ primary: one.primary, epoch: epoch(one.epoch), keyring: one.keyring, format: one.format },
          addresses: one.addresses,
          met: one.met,
          line: lineOf(line),
          recovery: { shares, threshold },
          statement: readStatement(statement),
          chain: chainOf(chain),
        }
      },
    ),
  },
  Echo: {
    question: form(
      EchoRequestSchema,
      ({ position, took, ...one }: EchoRequest & { format: number; took: number }) => ({
        ...one,
        took: BigInt(took),
        position: { epoch: position.epoch, seq: BigInt(position.seq) },
      }),
      ({ position, state, format, took, address, apiAddress }) => ({
        position: { epoch: position?.epoch ?? '', seq: whole(position?.seq ?? 0n) },
        ...{ state, format, took: whole(took), address, apiAddress },
      }),
    ),
    answer: form(
      EchoResponseSchema,
      ({ seq, frontier, line, canaryAt, ...one }: ToldEcho) => ({
        ...one,
        seq: BigInt(seq),
        frontier: BigInt(frontier),
        line: eras(line),
        canaryAt: BigInt(canaryAt),
      }),
      ({ seq, frontier, epoch: name, line, addresses, met, canaryAt, format }): ToldEcho => ({
        ...{ seq: whole(seq), frontier: whole(frontier), canaryAt: whole(canaryAt) },
        ...{ epoch: epoch(name), line: lineOf(line), addresses, met, format },
      }),
    ),
  },
  Cells: {
    question: form(
      CellsRequestSchema,
      ({ line, from, bytes }: CellsRequest) => ({ line: eras(line), from: BigInt(from), bytes }),
      ({ line, from, bytes }): CellsRequest => ({ line: lineOf(line), from: whole(from), bytes }),
    ),
    answer: form(
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
        if (outcome.case === 'diverged') return { diverged: whole(outcome.value) }
        if (outcome.case === 'trimmed') return { trimmed: whole(outcome.value) }
        if (outcome.case === undefined) throw new Error('an answer is missing')
        const { cells, line, frontier } = outcome.value
        return { cells: cells.map(cellOf), line: lineOf(line), frontier: whole(frontier) }
      },
    ),
  },
  Items: {
    question: form(
      ItemsRequestSchema,
      ({ keys }: ItemsRequest) => ({ keys: keys.map(({ kind, pk, sk }) => ({ kind, pk, sk })) }),
      ({ keys }): ItemsRequest => ({ keys: keys.map(keyOf) }),
    ),
    answer: form(
      ItemsResponseSchema,
      ({ items, seq, line, epoch: name }: ItemsAnswer) => ({
        ...{ items: items.map(json), seq: BigInt(seq), line: eras(line), epoch: name },
      }),
      ({ items, seq, line, epoch: name }): ItemsAnswer => ({
        ...{ items: items.map(itemOf), seq: whole(seq), line: lineOf(line), epoch: epoch(name) },
      }),
    ),
  },
  Scan: {
    question: form(
      ScanRequestSchema,
      ({ segment, of, cursor }: ScanRequest) => defined({ segment, of, cursor }),
      ({ segment, of, cursor }): ScanRequest => {
        if (of < 1 || of > MOST_SEGMENTS || segment < 0 || segment >= of) throw new Error('no such segment')
        return defined({ segment, of, cursor: cursor ? { pk: cursor.pk, sk: cursor.sk } : undefined })
      },
    ),
    answer: form(
      ScanResponseSchema,
      ({ items, next, frontier }: ScanAnswer) =>
        defined({
          ...{ items: items.map(json), frontier: BigInt(frontier) },
          next,
        }),
      ({ items, next, frontier }): ScanAnswer =>
        defined({
          ...{ items: itemsOf(items), frontier: whole(frontier) },
          next: next ? { pk: next.pk, sk: next.sk } : undefined,
        }),
    ),
  },
  Tree: {
    question: form(
      TreeRequestSchema,
      ({ level, page = '' }: TreeRequest) => ({ level, page }),
      ({ level, page }): TreeRequest => {
        if (!LEVELS.includes(level)) throw new Error('no such level')
        return defined({ level: level as TreeRequest['level'], page: page || undefined })
      },
    ),
    answer: form(
      TreeResponseSchema,
      (answer: TreeAnswer) => answer,
      ({ hashes }): TreeAnswer => ({ hashes }),
    ),
  },
  Keyring: {
    question: form(
      KeyringRequestSchema,
      (one: { term: number }) => one,
      ({ term }): { term: number } => ({ term }),
    ),
    answer: form(
      KeyringResponseSchema,
      (one: KeyringAnswer) => one,
      ({ keyring, term }): KeyringAnswer => ({ keyring, term }),
    ),
  },
  Fence: {
    question: form(
      FenceRequestSchema,
      ({ key, line, chain, addresses, ...one }: FenceQuestion) => ({
        ...one,
        signingKey: Buffer.from(key, 'base64'),
        line: eras(line),
        chain: chain.map(statementForm),
        addresses: [...addresses],
      }),
      ({ cluster, signingKey, epoch: name, line, chain, addresses }): FenceQuestion => ({
        ...{ cluster, epoch: epoch(name), line: lineOf(line), chain: chainOf(chain), addresses },
        key: Buffer.from(signingKey).toString('base64'),
      }),
    ),
    answer: form(
      FenceResponseSchema,
      ({ epoch: name, seq, voucher, cluster, key, chain, addresses }: FenceReply) => ({
        end: { epoch: name, seq: BigInt(seq) },
        voucher: statementForm(voucher),
        ...{ cluster, signingKey: Buffer.from(key, 'base64'), chain: chain.map(statementForm) },
        addresses: [...addresses],
      }),
      ({ end, voucher, cluster, signingKey, chain, addresses }): FenceReply => ({
        ...{ epoch: epoch(end?.epoch ?? ''), seq: whole(end?.seq ?? 0n), voucher: readStatement(voucher) },
        ...{ cluster, key: Buffer.from(signingKey).toString('base64'), chain: chainOf(chain), addresses },
      }),
    ),
  },
  Handover: {
    question: form(
      HandoverRequestSchema,
      (one: { epoch: string }) => one,
      ({ epoch: name }): { epoch: string } => ({ epoch: epoch(name) }),
    ),
    answer: form(
      HandoverResponseSchema,
      ({ epoch: name, seq, addresses }: HandedOver) => ({
        end: { epoch: name, seq: BigInt(seq) },
        addresses: [...addresses],
      }),
      ({ end, addresses }): HandedOver => ({
        ...{ epoch: epoch(end?.epoch ?? ''), seq: whole(end?.seq ?? 0n) },
        addresses,
      }),
    ),
  },
  Notify: {
    question: form(
      NotifyRequestSchema,
      (_: Record<never, never>) => ({}),
      () => ({}),
    ),
    answer: form(
      NotifyResponseSchema,
      (_: Record<never, never>) => ({}),
      () => ({}),
    ),
  },
}

/** Into so many parts a scan may be cut. */
const MOST_SEGMENTS = 64

/** What a method is asked, and what it answers. */
export type Question<M extends keyof typeof forms> = ReturnType<(typeof forms)[M]['question']['read']>
export type Reply<M extends keyof typeof forms> = ReturnType<(typeof forms)[M]['answer']['read']>

/** What a call asks. @throws LinkRefused when its body holds no such question */
export function questionIn<M extends keyof typeof forms>(method: M, body: Uint8Array): Question<M> {
  try {
    return forms[method].question.read(body) as Question<M>
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new LinkRefused('invalid_argument', `the body of ${method} cannot be read: ${why}`)
  }
}
