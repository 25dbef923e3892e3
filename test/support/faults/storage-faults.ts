import { createErrorAnswer, type EngineResponse } from './engine-wire.ts'

/** A fault for one of the next storage calls. */
export type StorageFault = {
  /** number of matching calls that pass first */
  skip: number
  /** only calls of this operation count */
  operation?: string
  /** number of consecutive calls that fail; default 1 */
  times?: number
  /** counts a call and the SDK's retries as one call, so that all retries fail too */
  whole?: true
} & (
  | {
      /**
       * `before`: the engine never receives the call. `after`: the call takes effect, but its answer is lost.
       */
      when: 'before' | 'after'
      /** `reset` breaks the connection; the other kinds are errors of the engine */
      kind: 'reset' | 'error' | 'throttle' | 'conflict'
    }
  | { kind: 'delay'; delayMs: number; when?: never }
  /** the call waits until the tap releases it, then continues normally */
  | { kind: 'hold'; when?: never }
  /**
   * a stuck transaction: its caller gets no answer, and its items are locked for `stuckMs`. After `stuckMs`
   * the transaction takes effect (`after`) or is dropped (`before`).
   */
  | { kind: 'stuck'; when: 'before' | 'after'; stuckMs: number; operation: 'TransactWriteItems' }
  /** a batch read that returns one key of each table and leaves the other keys unprocessed */
  | { kind: 'unprocessed'; when?: never }
)

/** A storage fault with its state. */
export interface ArrangedFault {
  fault: StorageFault
  seen: number
  /** whether the fault struck a call, by the SDK's invocation id */
  known: Map<string, boolean>
}

export const arrange = (fault: StorageFault): ArrangedFault => ({ fault, seen: 0, known: new Map() })

/** Returns the fault that strikes this call, if any. Each fault counts the calls that match it. */
export function findFault(
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

/** Splits the keys of a batch read: the first key of each table is requested, the other keys are left out. */
export function splitBatchRead(body: Buffer): { asked: Buffer; left: Keys } {
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

/** Creates the answer to a call that a fault struck. @returns undefined if the fault breaks the connection */
export function createStruckAnswer({ kind }: StorageFault): EngineResponse | undefined {
  if (kind !== 'error' && kind !== 'throttle' && kind !== 'conflict') return undefined
  const { status, type } = errors[kind]
  const reasons = kind === 'conflict' ? { CancellationReasons: [{ Code: 'TransactionConflict' }] } : {}
  return createErrorAnswer(status, {
    __type: `com.amazonaws.dynamodb.v20120810#${type}`,
    message: 'a fault arranged by a test',
    ...reasons,
  })
}
