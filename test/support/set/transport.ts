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
  /** the request, as the engine received it */
  input: Record<string, unknown>
  writes: readonly ConflictingWrite[]
}

/**
 * A transaction whose coordinator stalls. The stalled transaction keeps its items locked, and its sender gets
 * no answer.
 */
export interface Stall {
  ms: number
  /**
   * `first`: the write takes effect at once; `last`: after the time of the stall; `never`: the transaction is
   * cancelled
   */
  takesEffect: 'first' | 'last' | 'never'
}

/** The client makes one attempt, because the storage makes the retries. */
const ATTEMPTS = 1

export interface TransportOptions {
  engine: SendDynamoDbCall
  /** true when overlapping transactions cancel each other, as on AWS */
  aws?: boolean
  /** called with each write when the write takes effect */
  onWrite?: (write: TableWrite) => void
  /** called with each call, its process and its answer */
  onCall?: (call: DynamoDbCall, process: Process, answer: AwsJsonAnswer) => void
}

/**
 * Sends DynamoDB calls to the engine as steps of a simulation. On AWS a transaction locks its items before it
 * is decided, so a write to one of these items in the meantime is refused.
 */
export function tableTransport(
  simulation: Pick<
    Simulation,
    'step' | 'during' | 'engineTurn' | 'enginePause' | 'within' | 'self' | 'clock'
  >,
  { engine, aws = false, onWrite, onCall }: TransportOptions,
) {
  const conflicts = newConflicts()
  /** by cluster: the time until which the cluster's writes fail */
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
    /** lets the next journaled commit of a cluster stall @returns the end of the stall */
    stall: (cluster: string, stalled: Stall): Promise<void> =>
      new Promise(over => stalls.push({ cluster, stall: stalled, over })),
    /** lets the writes of a cluster fail for some milliseconds; reads succeed */
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

/** Reports whether a transaction writes a journal entry among other items. */
const isCommit = (writes: readonly ConflictingWrite[]): boolean =>
  writes.length > 1 && writes.some(({ pk }) => pk.startsWith('j#'))

/** Connects to the DynamoDB engine of this test run, over HTTP. */
export function realEngine(url: string): { engine: SendDynamoDbCall; close: () => void } {
  const wire = openEngineWire(url)
  const engine = engineOver(wire, 'test')
  const salt = randomUUID().slice(0, 8)
  return {
    engine: ({ input, ...call }, ms) => engine({ ...call, input: salted(input, salt) }, ms),
    close: wire.close,
  }
}

/** Makes an engine that answers calls from tables in memory. */
export const engineOf =
  ({ answer }: Pick<ReturnType<typeof memoryEngine>, 'answer'>): SendDynamoDbCall =>
  async ({ operation, input }) =>
    answer(operation, input)

/**
 * Adds a salt to the request tokens of transactions, because equal seeds make equal tokens in each run, and
 * the engine remembers tokens for ten minutes.
 */
const salted = (input: DynamoDbCall['input'], salt: string): DynamoDbCall['input'] => {
  const { ClientRequestToken: token } = input
  return typeof token === 'string' ? { ...input, ClientRequestToken: salt + token.slice(salt.length) } : input
}
