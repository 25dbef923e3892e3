import { setTimeout } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { type EngineRequest, type EngineResponse, engineWire } from '../engine/wire.ts'
import { keepNewest } from '../provider/faults/kept.ts'
import {
  type ConflictingWrite,
  type Conflicts,
  conflictAnswer,
  itemWritesOf,
  newConflicts,
} from './storage-conflicts.ts'
import {
  type ArrangedFault,
  arrange,
  faultFor,
  type StorageFault,
  struckAnswer,
  withheld,
} from './storage-faults.ts'

/** A call to the tables, as it went by. */
export interface StorageCall {
  seq: number
  /** `BatchGetItem`, `TransactWriteItems` … */
  operation: string
  /** a fault met it */
  struck: boolean
  /** items that the engine read for a query or a scan, whether or not it told of them */
  scanned: number
  /** refused, because an item of it was taken */
  conflict: boolean
  /** what it writes or checks */
  writes: ConflictingWrite[]
}

/** A call on its way to the engine. */
export interface PassingCall extends EngineRequest {
  operation: string
  /** the SDK's id of a call: the same for its repetitions */
  invocation: string
  /** its body, as it reads */
  input: object
}

/** An item that is to be taken for a while. */
export type Taken = Omit<ConflictingWrite, 'action'> & { ms: number }

/**
 * A place between functions and engine where calls are counted and made to fail: tests assert numbers of round
 * trips with it, and try every point at which a request may crash. Tests in other processes reach it over HTTP
 * (`storage-tap-port.ts`).
 */
export interface StorageTap {
  /** Does a call, or what was arranged for it. @returns undefined: nobody is answered, the connection breaks */
  pass(call: PassingCall): Promise<EngineResponse | undefined>
  /** what went by since the last reset */
  calls(): StorageCall[]
  /** how many calls are held */
  held(): number
  fault(fault: StorageFault): void
  /**
   * The engine never sees two transactions at once, and so never refuses one for another. This makes that up: from now
   * on a transaction takes its items for some milliseconds, and whatever else would write or check one of them
   * meanwhile is refused as DynamoDB refuses it. A reset gives back whatever is taken.
   */
  awsLike(takesFor: number | undefined): void
  /** takes an item for a while: whatever else would write it is refused */
  take(taken: Taken): void
  /** ends all faults, and lets the calls that are held go on; the count goes on too */
  mend(): void
  /** the same, and begins the count anew */
  reset(): void
  close(): void
}

const REMEMBERED = 5000

/** What a tap remembers, and what it was told to do. */
interface State {
  calls: StorageCall[]
  faults: ArrangedFault[]
  /** lets calls go on that are held */
  held: (() => void)[]
  seq: number
  conflicts: Conflicts
  /** milliseconds for which a transaction takes its items at least; undefined: it does not */
  takesFor: number | undefined
  sinceReset: AbortController
  /** does a call on the engine */
  forward: (request: EngineRequest) => Promise<EngineResponse>
}

export function storageTap(engineUrl: string): StorageTap {
  const wire = engineWire(engineUrl)
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
    awsLike: takesFor => {
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

/** Time in which items are taken: until a reset at the latest. */
const passing = ({ sinceReset }: State, ms: number): Promise<void> =>
  setTimeout(ms, undefined, { signal: sinceReset.signal, ref: false }).catch(() => undefined)

async function pass(tap: State, passed: PassingCall): Promise<EngineResponse | undefined> {
  const { operation, invocation, input } = passed
  const fault = faultFor(tap.faults, operation, invocation)
  const writes = itemWritesOf(operation, input)
  const taken = tap.conflicts.among(writes)
  tap.seq += 1
  const conflict = taken.length > 0
  const call = { seq: tap.seq, operation, struck: fault !== undefined, scanned: 0, conflict, writes }
  keepNewest(tap.calls, REMEMBERED, [call])
  if (conflict) return conflictAnswer(operation, writes.length, taken)
  if (fault?.kind === 'delay') await setTimeout(fault.delayMs)
  if (fault?.kind === 'hold') await new Promise<void>(resolve => tap.held.push(resolve))
  if (fault?.kind === 'unprocessed') return partly(tap, passed)
  if (fault?.kind === 'stuck') {
    stick(tap, fault, writes, passed).catch(() => undefined)
    return undefined
  }
  if (fault?.when === 'before') return struckAnswer(fault)
  const answer = await taking(tap, operation, writes, () => tap.forward(passed))
  call.scanned = scannedIn(answer.body)
  return fault?.when === 'after' ? struckAnswer(fault) : answer
}

/** Does a call; a transaction takes its items for as long as one on AWS, where that is wanted. */
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

/** A transaction whose coordinator stalls: its items are taken until somebody sees to it. */
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

/** Part of a batch read, the rest named as not processed. */
async function partly(tap: State, { headers, body }: PassingCall): Promise<EngineResponse> {
  const { asked, left } = withheld(body)
  const answer = await tap.forward({ headers, body: asked })
  const content = JSON.parse(answer.body.toString('utf8')) as object
  const whole = Buffer.from(JSON.stringify({ ...content, UnprocessedKeys: left }))
  return { ...answer, headers: { ...answer.headers, 'x-amz-crc32': String(crc32(whole)) }, body: whole }
}

function take(tap: State, { ms, ...place }: Taken): void {
  const giveBack = tap.conflicts.take([place])
  void passing(tap, ms).then(giveBack)
}

const scannedIn = (body: Buffer): number =>
  Number(/"ScannedCount":(\d+)/.exec(body.toString('latin1'))?.[1] ?? 0)
