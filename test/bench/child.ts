// One process of the bench: loads a module with a handler, serves events one after the other or some at a time, reports
// what it cost. The parent sends {events, warmUp, atOnce} and gets {cpuMs, wallMs} for each event beyond the warm-up.
import { performance } from 'node:perf_hooks'

interface Order {
  events: unknown[]
  warmUp: number
  /** absent: 1 */
  atOnce?: number
}

const context = { getRemainingTimeInMillis: () => 15_000, functionName: 'bench', awsRequestId: 'bench' }
const { handler } = (await import(process.argv[2] ?? '')) as {
  handler: (event: unknown, context: unknown) => Promise<unknown>
}

async function serve({ events, warmUp, atOnce = 1 }: Order) {
  await each(events.slice(0, warmUp), atOnce)
  const counted = events.slice(warmUp)
  const [cpu, wall] = [process.cpuUsage(), performance.now()]
  await each(counted, atOnce)
  const { user, system } = process.cpuUsage(cpu)
  return {
    cpuMs: (user + system) / 1000 / counted.length,
    wallMs: (performance.now() - wall) / counted.length,
  }
}

async function each(events: readonly unknown[], atOnce: number): Promise<void> {
  let next = 0
  const client = async () => {
    while (next < events.length) await succeed(events[next++])
  }
  await Promise.all(Array.from({ length: atOnce }, client))
}

async function succeed(event: unknown): Promise<void> {
  const answer = (await handler(event, context)) as { statusCode: number; body: string }
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${answer.body}`)
}

process.on('SIGTERM', () => process.exit(0))
process.on('message', (order: Order) => {
  serve(order).then(
    result => process.send?.(result),
    (error: Error) => process.send?.({ error: error.message }),
  )
})
process.send?.('ready')
