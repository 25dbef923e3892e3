import { type EngineResponse, errorAnswer } from '../engine/wire.ts'

/** What to do to one of the next calls. */
export type StorageFault = {
  /** how many calls pass first */
  skip: number
  /** only calls of this operation count */
  operation?: string
  /** how many calls in a row are struck; default 1 */
  times?: number
  /** a call and the SDK's repetitions of it are one call: what is struck stays struck */
  whole?: true
} & (
  | {
      /** before: the engine never sees the call; after: its effect takes place, the answer is lost */
      when: 'before' | 'after'
      /** `reset` breaks the connection; the others are errors as the engine would send them */
      kind: 'reset' | 'error' | 'throttle' | 'conflict'
    }
  | { kind: 'delay'; delayMs: number; when?: never }
  /** waits until it is released, then goes on as if nothing had been */
  | { kind: 'hold'; when?: never }
  /**
   * a transaction that is stuck: nobody is answered, its items are taken for so long; then it takes effect (after),
   * or it never does (before)
   */
  | { kind: 'stuck'; when: 'before' | 'after'; stuckMs: number; operation: 'TransactWriteItems' }
  /** a batch read that leaves all keys but one of each table unread */
  | { kind: 'unprocessed'; when?: never }
)

/** A fault, with what it has met so far. */
export interface ArrangedFault {
  fault: StorageFault
  seen: number
  /** by the SDK's id of a call: whether it was struck */
  known: Map<string, boolean>
}

export const arrange = (fault: StorageFault): ArrangedFault => ({ fault, seen: 0, known: new Map() })

/** The fault that strikes this call, if any; each fault counts the calls that it meets. */
export function faultFor(
  faults: readonly ArrangedFault[],
  operation: string,
  invocation: string,
): StorageFault | undefined {
  for (const arranged of faults) {
    const { fault, known } = arranged
    if (fault.operation !== undefined && fault.operation !== operation) continue
    const before = fault.whole ? known.get(invocation) : undefined
    if (before === undefined) arranged.seen += 1
    const struck = before ?? (arranged.seen > fault.skip && arranged.seen <= fault.skip + (fault.times ?? 1))
    known.set(invocation, struck)
    if (struck) return fault
  }
  return undefined
}

type Keys = Record<string, { Keys: unknown[] }>

/** Divides a batch read: the first key of each table is asked for, the others are left. */
export function withheld(body: Buffer): { asked: Buffer; left: Keys } {
  const { RequestItems, ...rest } = JSON.parse(body.toString('utf8')) as { RequestItems: Keys }
  const part = (from: number, to?: number): Keys =>
    Object.fromEntries(
      Object.entries(RequestItems)
        .map(([table, { Keys, ...more }]) => [table, { ...more, Keys: Keys.slice(from, to) }] as const)
        .filter(([, { Keys }]) => Keys.length > 0),
    )
  return { asked: Buffer.from(JSON.stringify({ ...rest, RequestItems: part(0, 1) })), left: part(1) }
}

const errors = {
  error: { status: 500, type: 'InternalServerError' },
  throttle: { status: 400, type: 'ProvisionedThroughputExceededException' },
  conflict: { status: 400, type: 'TransactionCanceledException' },
} as const

/** What a struck call is answered. @returns undefined: its connection breaks */
export function struckAnswer({ kind }: StorageFault): EngineResponse | undefined {
  if (kind !== 'error' && kind !== 'throttle' && kind !== 'conflict') return undefined
  const { status, type } = errors[kind]
  const reasons = kind === 'conflict' ? { CancellationReasons: [{ Code: 'TransactionConflict' }] } : {}
  return errorAnswer(status, {
    __type: `com.amazonaws.dynamodb.v20120810#${type}`,
    message: 'a fault arranged by a test',
    ...reasons,
  })
}
