import { randomUUID } from 'node:crypto'
import type { AwsJsonAnswer } from '../../../shared/adapters/aws/wire/json.ts'
import { ATTEMPT_TIMEOUT_MS } from '../../../shared/adapters/aws/wire/limits.ts'
import {
  createTableSend,
  type DynamoDbCall,
  type SendDynamoDbCall,
} from '../../../shared/adapters/aws/wire/tables.ts'
import { openEngineWire } from '../faults/engine-wire.ts'
import {
  type ConflictingWrite,
  conflictError,
  listItemWrites,
  newConflicts,
} from '../faults/storage-conflicts.ts'
import { refusedCall } from '../iam/judge.ts'
import { engineOver } from '../service/lean-client.ts'
import type { memoryEngine } from '../tables/memory-engine.ts'
import type { Simulation } from './simulation.ts'
import type { Process } from './traps.ts'

/** A write that took effect. */
export interface TableWrite {
  operation: string
  /** the request, as the engine got it */
  input: Record<string, unknown>
  writes: readonly ConflictingWrite[]
}

/** A transaction whose coordinator stalls. It keeps its items locked meanwhile, and its sender gets no answer. */
export interface Stall {
  ms: number
  /** at once; after its time; or never, because it is cancelled */
  takesEffect: 'first' | 'last' | 'never'
}

/** The client makes one attempt; retries are left to the storage. */
const ATTEMPTS = 1

export interface TransportOptions {
  engine: SendDynamoDbCall
  /** true when overlapping transactions cancel each other, as on AWS */
  aws?: boolean
  /** called with each write when it takes effect */
  onWrite?: (write: TableWrite) => void
  /** called with each call, its process and its answer */
  onCall?: (call: DynamoDbCall, process: Process, answer: AwsJsonAnswer) => void
}

/**
 * Sends calls to the engine as steps of a simulation. On AWS a transaction takes its items before it is
 * decided: what comes to one of them in between is refused.
 */
export function tableTransport(
  simulation: Pick<
    Simulation,
    'step' | 'during' | 'engineTurn' | 'enginePause' | 'within' | 'self' | 'clock'
  >,
  { engine, aws = false, onWrite, onCall }: TransportOptions,
) {
  const conflicts = newConflicts()
  /** disks that are full until a time, by cluster */
  const full = new Map<string, number>()
  let stalls: { cluster: string; stall: Stall; over: () => void }[] = []

  async function decided(call: DynamoDbCall, writes: readonly ConflictingWrite[]): Promise<AwsJsonAnswer> {
    const answer = await simulation.during(() => engine(call, ATTEMPT_TIMEOUT_MS))
    if (answer.statusCode === 200 && writes.length > 0) onWrite?.({ ...call, writes })
    return answer
  }

  async function done(call: DynamoDbCall): Promise<AwsJsonAnswer> {
    const process = simulation.self()
    const answer = await answered(call)
    onCall?.(call, process, answer)
    return answer
  }

  async function answered(call: DynamoDbCall): Promise<AwsJsonAnswer> {
    const { operation, input } = call
    const writes = listItemWrites(operation, input)
    const { cluster } = simulation.self()
    if (writes.length > 0 && simulation.clock.now() < (full.get(cluster) ?? 0)) return NO_ROOM
    const taken = aws ? conflicts.findTaken(writes) : []
    if (taken.length > 0) return { statusCode: 400, body: conflictError(operation, writes.length, taken) }
    if (!aws || operation !== 'TransactWriteItems') return decided(call, writes)
    const stalled = stalls.find(one => one.cluster === cluster)
    if (stalled && isCommit(writes)) {
      stalls = stalls.filter(one => one !== stalled)
      const late = stall(stalled.stall, call, writes).finally(stalled.over)
      return simulation.within(
        ATTEMPT_TIMEOUT_MS,
        operation,
        late.then(() => new Promise<never>(() => undefined)),
      )
    }
    const giveBack = conflicts.take(writes)
    try {
      await simulation.engineTurn()
      return await decided(call, writes)
    } finally {
      giveBack()
    }
  }

  async function stall(
    { ms, takesEffect }: Stall,
    call: DynamoDbCall,
    writes: ConflictingWrite[],
  ): Promise<void> {
    const giveBack = conflicts.take(writes)
    if (takesEffect === 'first') await decided(call, writes)
    await simulation.enginePause(ms)
    if (takesEffect === 'last') await decided(call, writes)
    giveBack()
  }

  return {
    /** the next journaled commit of a cluster stalls @returns its end */
    stall: (cluster: string, stalled: Stall): Promise<void> =>
      new Promise(over => stalls.push({ cluster, stall: stalled, over })),
    /** for some milliseconds a cluster can read but not write */
    fillDisk: (cluster: string, ms: number): void => void full.set(cluster, simulation.clock.now() + ms),
    makeRoom: (): void => full.clear(),
    send: createTableSend(
      call => simulation.step(call.operation, async () => refusedCall(call) ?? done(call)),
      ATTEMPTS,
    ),
  }
}

/** The answer of an engine that cannot write. */
const NO_ROOM: AwsJsonAnswer = {
  statusCode: 500,
  body: { __type: 'com.amazonaws.dynamodb.v20120810#InternalServerError', message: 'disk is full' },
}

/** A transaction that writes a journal entry among other things. */
const isCommit = (writes: readonly ConflictingWrite[]): boolean =>
  writes.length > 1 && writes.some(({ pk }) => pk.startsWith('j#'))

/** The engine of this run of tests, over HTTP. */
export function realEngine(url: string): { engine: SendDynamoDbCall; close: () => void } {
  const wire = openEngineWire(url)
  const engine = engineOver(wire, 'test')
  const salt = randomUUID().slice(0, 8)
  return {
    engine: ({ input, ...call }, ms) => engine({ ...call, input: salted(input, salt) }, ms),
    close: wire.close,
  }
}

/** An engine in memory, as one that answers calls. */
export const engineOf =
  ({ answer }: Pick<ReturnType<typeof memoryEngine>, 'answer'>): SendDynamoDbCall =>
  async ({ operation, input }) =>
    answer(operation, input)

/** Seeds make the same tokens again and again, and the engine remembers them for ten minutes. */
const salted = (input: DynamoDbCall['input'], salt: string): DynamoDbCall['input'] => {
  const { ClientRequestToken: token } = input
  return typeof token === 'string' ? { ...input, ClientRequestToken: salt + token.slice(salt.length) } : input
}
