import { randomUUID } from 'node:crypto'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { engineWire } from '../../../infra/local/engine-wire.ts'
import {
  conflictError,
  type ItemWrite,
  itemWritesOf,
  newConflicts,
} from '../../../infra/local/storage-conflicts.ts'
import { bytesOf, noSigner, unsigned } from '../lean-client.ts'
import type { memoryEngine } from './memory-engine.ts'
import type { Simulation } from './simulation.ts'

/** A write that took effect. */
export interface TableWrite {
  operation: string
  /** the request, as the engine got it */
  input: Record<string, unknown>
  writes: readonly ItemWrite[]
}

interface Answered {
  statusCode: number
  headers: Record<string, string>
  body: Uint8Array
}

interface Asked {
  operation: string
  headers: Record<string, string>
  body: Buffer
}

/**
 * What becomes of a transaction whose coordinator stalls. Its items are taken meanwhile, and whoever sent it hears
 * nothing.
 */
export interface Stall {
  ms: number
  /** at once; when its time is over; or never: it is cancelled then */
  takesEffect: 'first' | 'last' | 'never'
}

/** Milliseconds that an attempt is waited for, as the adapter does. */
const ATTEMPT_MS = 3000

/** Decides a call. */
export type TableEngine = (asked: Asked) => Promise<Answered>

export interface TransportOptions {
  engine: TableEngine
  /** whether overlapping transactions cancel each other, as on AWS */
  aws?: boolean
  /** told of each write at the moment at which it takes effect */
  onWrite?: (write: TableWrite) => void
}

/**
 * Makes clients of the engine whose calls are steps of a simulation. On AWS a transaction takes its items before it is
 * decided: what comes to one of them in between is refused.
 */
export function tableTransport(
  simulation: Pick<Simulation, 'step' | 'during' | 'engineTurn' | 'enginePause' | 'within' | 'self'>,
  { engine, aws = false, onWrite }: TransportOptions,
) {
  const conflicts = newConflicts()
  let stalls: { cluster: string; stall: Stall; over: () => void }[] = []

  async function decided(asked: Asked, writes: readonly ItemWrite[]): Promise<Answered> {
    const { operation, body } = asked
    const answer = await simulation.during(() => engine(asked))
    if (answer.statusCode === 200 && writes.length > 0)
      onWrite?.({ operation, input: JSON.parse(body.toString('utf8')), writes })
    return answer
  }

  async function done(asked: Asked): Promise<Answered> {
    const { operation, body } = asked
    const writes = itemWritesOf(operation, body)
    const taken = aws ? conflicts.among(writes) : []
    if (taken.length > 0) return refusal(conflictError(operation, writes.length, taken))
    if (!aws || operation !== 'TransactWriteItems') return decided(asked, writes)
    const stalled = stalls.find(({ cluster }) => cluster === simulation.self().cluster)
    if (stalled && isCommit(writes)) {
      stalls = stalls.filter(one => one !== stalled)
      const late = stall(stalled.stall, asked, writes).finally(stalled.over)
      return simulation.within(
        ATTEMPT_MS,
        operation,
        late.then(() => new Promise<never>(() => undefined)),
      )
    }
    const giveBack = conflicts.take(writes)
    try {
      await simulation.engineTurn()
      return await decided(asked, writes)
    } finally {
      giveBack()
    }
  }

  async function stall({ ms, takesEffect }: Stall, asked: Asked, writes: ItemWrite[]): Promise<void> {
    const giveBack = conflicts.take(writes)
    if (takesEffect === 'first') await decided(asked, writes)
    await simulation.enginePause(ms)
    if (takesEffect === 'last') await decided(asked, writes)
    giveBack()
  }

  const handle = async ({ headers, body }: { headers: Record<string, string>; body?: unknown }) => {
    const operation = String(headers['x-amz-target']).split('.')[1] ?? ''
    const asked = { operation, headers, body: bytesOf(body as Uint8Array) }
    return { response: await simulation.step(operation, () => done(asked)) }
  }

  const requestHandler = { handle, updateHttpClientConfig: () => undefined, httpHandlerConfigs: () => ({}) }
  return {
    /** the next journaled commit of a cluster stalls. @returns when it is over */
    stall: (cluster: string, stalled: Stall): Promise<void> =>
      new Promise(over => stalls.push({ cluster, stall: stalled, over })),
    connect: () =>
      withoutBallast(
        new DynamoDBClient({
          ...{ endpoint: 'http://tables.test', region: 'us-east-1', maxAttempts: 1 },
          credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
          requestHandler: requestHandler as never,
          signer: noSigner,
        }),
      ),
  }
}

/** What the SDK does for logs that nobody reads, headers that nobody looks at, and attempts of which there is one. */
const BALLAST = [
  ...['loggerMiddleware', 'getUserAgentMiddleware', 'recursionDetectionMiddleware', 'hostHeaderMiddleware'],
  ...['contentLengthMiddleware', 'retryMiddleware', 'httpSigningMiddleware'],
]

function withoutBallast(client: DynamoDBClient): DynamoDBClient {
  for (const name of BALLAST) client.middlewareStack.remove(name)
  return client
}

/** A transaction that writes a cell among other things. */
const isCommit = (writes: readonly ItemWrite[]): boolean =>
  writes.length > 1 && writes.some(({ pk }) => pk.startsWith('j#'))

/** The engine of this run of tests, over HTTP. */
export function realEngine(url: string): { engine: TableEngine; close: () => void } {
  const { send, close } = engineWire(url)
  const salt = randomUUID().slice(0, 8)
  const engine: TableEngine = ({ headers, body }) =>
    send({ headers: { ...headers, ...unsigned('test') }, body: salted(body, salt) })
  return { engine, close }
}

/** An engine in memory, as one that answers calls. */
export const engineOf =
  ({ answer }: Pick<ReturnType<typeof memoryEngine>, 'answer'>): TableEngine =>
  async ({ operation, body }) => {
    const { statusCode, body: said } = answer(operation, JSON.parse(body.toString('utf8')) as object)
    return { ...answered(said), statusCode }
  }

/** Seeds make the same tokens again and again, and the engine remembers them for ten minutes. */
const salted = (body: Buffer, salt: string): Buffer =>
  Buffer.from(body.toString('utf8').replace(/("ClientRequestToken":")[0-9a-f]{8}/, `$1${salt}`))

const refusal = (error: object): Answered => ({ ...answered(error), statusCode: 400 })

const answered = (body: object): Answered => ({
  statusCode: 200,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: Buffer.from(JSON.stringify(body)),
})
