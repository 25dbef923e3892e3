import type { Host } from '../../infra/local/host/host.ts'
import { median } from './median.ts'
import { type Recorded, startPlayer, startRecorder } from './recorder.ts'
import type { ReplayOrder } from './replay.ts'
import { loginEvent, type World } from './world.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  /** starts a process of the bench, and gives it its order */
  ordered<T>(
    file: string,
    parameters: string[],
    environment: Record<string, string>,
    order: object,
  ): Promise<T>
}

/** Logins at a time while calls are recorded, so that reads share calls. */
const AT_ONCE = [1, 64]
const LOGINS = 384
const ROUNDS = 7
const CALLS = { warmUp: 3000, counted: 6000 }

/**
 * Processor time of the calls that logins make to the tables: by the product's wire, and over `node:http` as they are,
 * unsigned and unparsed. A recorded engine answers, in another process.
 */
export async function wireBench(host: Host, world: World, tools: Tools): Promise<void> {
  const { print, results, ordered } = tools
  print('\nProcessor time of a call to the tables, as logins send them: the wire ÷ the same over node:http')
  for (const type of ['ec2', 'iam'] as const) {
    for (const atOnce of AT_ONCE) {
      const calls = await recorded(host, world[type], atOnce, tools)
      const player = await startPlayer(calls)
      const found: Record<ReplayOrder['way'], number[]> = { wire: [], floor: [] }
      for (let round = 0; round < ROUNDS; round++) {
        for (const way of ['wire', 'floor'] as const) {
          const order: ReplayOrder = { url: player.url, calls, way, atOnce: Math.min(atOnce, 8), ...CALLS }
          const { cpuUs } = await ordered<{ cpuUs: number }>('replay.ts', [], {}, order)
          found[way].push(cpuUs)
        }
      }
      await player.close()
      const ratio = median(found.wire.map((us, round) => us / (found.floor[round] ?? us)))
      const perLogin = calls.length / LOGINS
      results[`wire ${type} ${atOnce}`] = { ...found, ratio, perLogin }
      print(
        `  ${type}   ${String(atOnce).padStart(2)} logins at once, ${perLogin.toFixed(2)} calls each   ${median(found.wire).toFixed(0)} µs, floor ${median(found.floor).toFixed(0)} µs: ${ratio.toFixed(2)} ×`,
      )
    }
  }
}

/** The calls of logins in an environment that is warm. */
async function recorded(
  host: Host,
  logins: string[],
  atOnce: number,
  { ordered }: Tools,
): Promise<Recorded[]> {
  const { code, environment } = host.runtimeOf('login')
  const recorder = await startRecorder(environment['AWS_ENDPOINT_URL_DYNAMODB'] ?? '')
  const events = Array.from({ length: 2 * LOGINS }, (_, index) =>
    loginEvent(logins[index % logins.length] ?? ''),
  )
  const through = { ...environment, AWS_ENDPOINT_URL_DYNAMODB: recorder.url }
  await ordered('child.ts', [`${code}/index.mjs`], through, { events, warmUp: LOGINS, atOnce })
  await recorder.close()
  return recorder.calls.slice(Math.floor(recorder.calls.length / 2))
}
