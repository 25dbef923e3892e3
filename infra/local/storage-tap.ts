import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { type EngineWire, engineWire } from './engine-wire.ts'
import { endServer, listen } from './loopback.ts'
import { type Connections, newConnections } from './provider/drills/connections.ts'
import {
  type Conflicts,
  type ItemWrite,
  itemWritesOf,
  newConflicts,
  refuseConflict,
} from './storage-conflicts.ts'
import {
  type ArrangedFault,
  arrange,
  faultFor,
  type StorageFault,
  strike,
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
  writes: ItemWrite[]
}

/**
 * A place between functions and engine where calls are counted and made to fail: tests assert numbers of round
 * trips with it, and try every point at which a request may crash. Commands come over HTTP, so that tests in
 * other processes can use it: `POST /_tap/calls`, `/_tap/reset`, `/_tap/fault`, `/_tap/mend`, `/_tap/drop`,
 * `/_tap/aws`, `/_tap/take`.
 *
 * The engine never sees two transactions at once, and so never refuses one for another. `/_tap/aws` makes that up:
 * from then on a transaction takes its items for some milliseconds, and whatever else would write or check one of
 * them meanwhile is refused as DynamoDB refuses it. A reset gives back whatever is taken.
 */
export interface StorageTap {
  url: string
  close(): Promise<void>
}

/** An item that is to be taken for a while. */
type Taken = Omit<ItemWrite, 'action'> & { ms: number }

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

const MOST_REMEMBERED = 10_000

/** What a tap remembers, and what it was told to do. */
interface Tap {
  calls: StorageCall[]
  faults: ArrangedFault[]
  /** lets calls go on that are held */
  held: (() => void)[]
  seq: number
  connections: Connections
  conflicts: Conflicts
  /** milliseconds for which a transaction takes its items at least; undefined: it does not */
  takesFor: number | undefined
  sinceReset: AbortController
  /** does a call on the engine */
  forward: (incoming: IncomingMessage, body: Buffer) => Promise<Answer>
}

export async function startStorageTap(engineUrl: string): Promise<StorageTap> {
  const wire = engineWire(engineUrl)
  const tap: Tap = {
    calls: [],
    faults: [],
    held: [],
    seq: 0,
    connections: newConnections(),
    conflicts: newConflicts(),
    takesFor: undefined,
    sinceReset: new AbortController(),
    forward: forwardTo(wire),
  }
  const server = createServer((incoming, response) => {
    const serve = incoming.url?.startsWith('/_tap/') ? command : pass
    serve(tap, incoming, response).catch(() => response.destroy())
  })
  return {
    url: await listen(server),
    close: () => {
      wire.close()
      return endServer(server)
    },
  }
}

/** Time in which items are taken: until a reset at the latest. */
const passing = ({ sinceReset }: Tap, ms: number): Promise<void> =>
  setTimeout(ms, undefined, { signal: sinceReset.signal, ref: false }).catch(() => undefined)

const forwardTo =
  ({ send }: EngineWire): Tap['forward'] =>
  async ({ headers }, body) => {
    const { statusCode: status, ...answer } = await send({ headers, body })
    return { status, ...answer }
  }

async function pass(tap: Tap, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const operation = String(incoming.headers['x-amz-target'] ?? '').split('.')[1] ?? ''
  const body = await contentOf(incoming)
  if (!tap.connections.lives(incoming.socket)) return void incoming.socket.resetAndDestroy()
  const fault = faultFor(tap.faults, operation, String(incoming.headers['amz-sdk-invocation-id']))
  const writes = itemWritesOf(operation, JSON.parse(body.toString('utf8')) as object)
  const taken = tap.conflicts.among(writes)
  tap.seq += 1
  const conflict = taken.length > 0
  const call = { seq: tap.seq, operation, struck: fault !== undefined, scanned: 0, conflict, writes }
  tap.calls.push(call)
  if (tap.calls.length > MOST_REMEMBERED) tap.calls = tap.calls.slice(-MOST_REMEMBERED / 2)
  if (conflict) return refuseConflict(response, operation, writes.length, taken)
  if (fault?.kind === 'delay') await setTimeout(fault.delayMs)
  if (fault?.kind === 'hold') await new Promise<void>(resolve => tap.held.push(resolve))
  if (fault?.kind === 'unprocessed') return answerWith(response, await partly(tap, incoming, body))
  if (fault?.kind === 'stuck') return stick(tap, fault, writes, incoming, body)
  if (fault?.when === 'before') return strike(fault, response)
  const answer = await taking(tap, operation, writes, () => tap.forward(incoming, body))
  call.scanned = scannedIn(answer.body)
  if (fault?.when === 'after') return strike(fault, response)
  answerWith(response, answer)
}

/** Does a call; a transaction takes its items for as long as one on AWS, where that is wanted. */
async function taking<T>(
  tap: Tap,
  operation: string,
  writes: ItemWrite[],
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

/** A transaction whose coordinator stalls: nobody is answered, and its items are taken until somebody sees to it. */
async function stick(
  tap: Tap,
  { when, stuckMs }: StorageFault & { kind: 'stuck' },
  writes: ItemWrite[],
  incoming: IncomingMessage,
  body: Buffer,
): Promise<void> {
  const giveBack = tap.conflicts.take(writes)
  incoming.socket.resetAndDestroy()
  await passing(tap, stuckMs)
  if (when === 'after') await tap.forward(incoming, body)
  giveBack()
}

/** Part of a batch read, the rest named as not processed. */
async function partly(tap: Tap, incoming: IncomingMessage, body: Buffer): Promise<Answer> {
  const { asked, left } = withheld(body)
  const answer = await tap.forward(incoming, asked)
  const content = JSON.parse(answer.body.toString('utf8')) as object
  return { ...answer, body: Buffer.from(JSON.stringify({ ...content, UnprocessedKeys: left })) }
}

function take(tap: Tap, { ms, ...place }: Taken): void {
  const giveBack = tap.conflicts.take([place])
  void passing(tap, ms).then(giveBack)
}

async function command(tap: Tap, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await contentOf(incoming)).toString('utf8')
  if (incoming.url === '/_tap/fault') tap.faults.push(arrange(JSON.parse(body) as StorageFault))
  if (incoming.url === '/_tap/drop') tap.connections.drop()
  if (incoming.url === '/_tap/aws') tap.takesFor = (JSON.parse(body) as { takesFor?: number }).takesFor
  if (incoming.url === '/_tap/take') take(tap, JSON.parse(body) as Taken)
  const answer = JSON.stringify({ calls: tap.calls, held: tap.held.length })
  if (incoming.url === '/_tap/reset') {
    tap.calls = []
    tap.takesFor = undefined
    tap.conflicts.clear()
    tap.sinceReset.abort()
    tap.sinceReset = new AbortController()
  }
  if (incoming.url === '/_tap/reset' || incoming.url === '/_tap/mend') {
    tap.faults = []
    for (const go of tap.held.splice(0)) go()
  }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(answer)
}

const scannedIn = (body: Buffer): number =>
  Number(/"ScannedCount":(\d+)/.exec(body.toString('latin1'))?.[1] ?? 0)

async function contentOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function answerWith(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': body.length })
  response.end(body)
}
