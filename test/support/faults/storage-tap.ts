import { setTimeout } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { keepNewestElements } from '../../../infra/local/provider/faults/kept.ts'
import { type EngineRequest, type EngineResponse, openEngineWire } from './engine-wire.ts'
import {
  type ConflictingWrite,
  type Conflicts,
  createConflictAnswer,
  listItemWrites,
  newConflicts,
} from './storage-conflicts.ts'
import {
  type ArrangedFault,
  arrange,
  createStruckAnswer,
  findFault,
  type StorageFault,
  splitBatchRead,
} from './storage-faults.ts'

/** A DynamoDB call that passed the storage tap. */
export interface StorageCall {
  seq: number
  /** `BatchGetItem`, `TransactWriteItems` … */
  operation: string
  /** true if a fault affected the call */
  struck: boolean
  /** items that the engine read for a query or scan, including those it filtered out */
  scanned: number
  /** true if the call was rejected because one of its items was locked */
  conflict: boolean
  /** the items that the call writes or checks */
  writes: ConflictingWrite[]
}

/** A DynamoDB call on its way to the engine. */
export interface PassingCall extends EngineRequest {
  operation: string
  /** the SDK's invocation id, which all retries of a call share */
  invocation: string
  /** the parsed body of the call */
  input: object
}

/** An item that the storage tap locks for `ms` milliseconds. */
export type LockedItem = Omit<ConflictingWrite, 'action'> & { ms: number }

/**
 * A proxy between functions and the DynamoDB engine that counts calls and makes calls fail. Tests assert
 * numbers of round trips with the tap, and interrupt requests at every point. Tests in other processes reach
 * the tap over HTTP (`storage-tap-port.ts`).
 */
export interface StorageTap {
  /**
   * Performs a call, or the fault that a test arranged for the call. @returns undefined if the connection
   * breaks without an answer
   */
  pass(call: PassingCall): Promise<EngineResponse | undefined>
  /** storage calls since the last reset */
  calls(): StorageCall[]
  /** number of calls that a fault of kind `hold` holds */
  held(): number
  fault(fault: StorageFault): void
  /**
   * Imitates transaction conflicts, which the engine itself never has because it runs one transaction at a
   * time. After this call a transaction locks its items for some milliseconds, and other writes or checks of
   * the locked items are rejected as in DynamoDB. A reset unlocks all items.
   */
  imitateConflicts(takesFor: number | undefined): void
  /** locks an item for a while, so that other writes to the item are rejected */
  take(taken: LockedItem): void
  /** ends all faults and releases held calls; the call count continues */
  mend(): void
  /** like `mend`, and also restarts the call count */
  reset(): void
  close(): void
}

const REMEMBERED = 5000

/** The state of a storage tap. */
interface State {
  calls: StorageCall[]
  faults: ArrangedFault[]
  /** releases the held calls */
  held: (() => void)[]
  seq: number
  conflicts: Conflicts
  /** minimum milliseconds for which a transaction locks its items; undefined: transactions lock nothing */
  takesFor: number | undefined
  sinceReset: AbortController
  /** performs a call on the engine */
  forward: (request: EngineRequest) => Promise<EngineResponse>
}

export function createStorageTap(engineUrl: string): StorageTap {
  const wire = openEngineWire(engineUrl)
  const state: State = {
    calls: [],
    faults: [],
    held: [],
    seq: 0,
    conflicts: newConflicts(),
    takesFor: undefined,
    sinceReset: new AbortController(),
    forward: wire.send,
  }
  const mend = () => {
    state.faults = []
    for (const go of state.held.splice(0)) go()
  }
  return {
    pass: call => pass(state, call),
    calls: () => state.calls.map(call => ({ ...call })),
    held: () => state.held.length,
    fault: fault => void state.faults.push(arrange(fault)),
    imitateConflicts: takesFor => {
      state.takesFor = takesFor
    },
    take: taken => take(state, taken),
    mend,
    reset: () => {
      state.calls = []
      state.takesFor = undefined
      state.conflicts.clear()
      state.sinceReset.abort()
      state.sinceReset = new AbortController()
      mend()
    },
    close: wire.close,
  }
}

/** Waits while items are locked, at most until the tap is reset. */
const passing = ({ sinceReset }: State, ms: number): Promise<void> =>
  setTimeout(ms, undefined, { signal: sinceReset.signal, ref: false }).catch(() => undefined)

async function pass(tap: State, passed: PassingCall): Promise<EngineResponse | undefined> {
  const { operation, invocation, input } = passed
  const fault = findFault(tap.faults, operation, invocation)
  const writes = listItemWrites(operation, input)
  const taken = tap.conflicts.findTaken(writes)
  tap.seq += 1
  const conflict = taken.length > 0
  const call = { seq: tap.seq, operation, struck: fault !== undefined, scanned: 0, conflict, writes }
  keepNewestElements(tap.calls, REMEMBERED, [call])
  if (conflict) return createConflictAnswer(operation, writes.length, taken)
  if (fault?.kind === 'delay') await setTimeout(fault.delayMs)
  if (fault?.kind === 'hold') await new Promise<void>(resolve => tap.held.push(resolve))
  if (fault?.kind === 'unprocessed') return partly(tap, passed)
  if (fault?.kind === 'stuck') {
    stick(tap, fault, writes, passed).catch(() => undefined)
    return undefined
  }
  if (fault?.when === 'before') return createStruckAnswer(fault)
  const answer = await taking(tap, operation, writes, () => tap.forward(passed))
  call.scanned = scannedIn(answer.body)
  return fault?.when === 'after' ? createStruckAnswer(fault) : answer
}

/**
 * Performs a call. If transaction conflicts are imitated, a transaction locks its items as long as a
 * transaction on AWS does.
 */
async function taking<T>(
  tap: State,
  operation: string,
  writes: ConflictingWrite[],
  work: () => Promise<T>,
): Promise<T> {
  if (tap.takesFor === undefined || operation !== 'TransactWriteItems') return work()
  const giveBack = tap.conflicts.take(writes)
  try {
    const [result] = await Promise.all([work(), passing(tap, tap.takesFor)])
    return result
  } finally {
    giveBack()
  }
}

/**
 * Imitates a transaction whose coordinator stalls: the transaction's items stay locked until the fault ends.
 */
async function stick(
  tap: State,
  { when, stuckMs }: StorageFault & { kind: 'stuck' },
  writes: ConflictingWrite[],
  call: PassingCall,
): Promise<void> {
  const giveBack = tap.conflicts.take(writes)
  await passing(tap, stuckMs)
  try {
    if (when === 'after') await tap.forward(call)
  } finally {
    giveBack()
  }
}

/** Answers one key of each table of a batch read, and returns the other keys as unprocessed. */
async function partly(tap: State, { headers, body }: PassingCall): Promise<EngineResponse> {
  const { asked, left } = splitBatchRead(body)
  const answer = await tap.forward({ headers, body: asked })
  const content = JSON.parse(answer.body.toString('utf8')) as object
  const whole = Buffer.from(JSON.stringify({ ...content, UnprocessedKeys: left }))
  return { ...answer, headers: { ...answer.headers, 'x-amz-crc32': String(crc32(whole)) }, body: whole }
}

function take(tap: State, { ms, ...place }: LockedItem): void {
  const giveBack = tap.conflicts.take([place])
  void passing(tap, ms).then(giveBack)
}

const scannedIn = (body: Buffer): number =>
  Number(/"ScannedCount":(\d+)/.exec(body.toString('latin1'))?.[1] ?? 0)
