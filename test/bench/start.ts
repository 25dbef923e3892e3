import { spawnSync } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { makeJwtWorld } from './jwt-world.ts'
import { median } from './median.ts'
import { loginEvent, type World } from './world.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
}

const ROUNDS = 15

/** Prints the size of the login's bundle. */
function printSizes(host: LocalHost, { print, results }: Tools): void {
  const { code } = host.runtimeOf('login')
  const files = readdirSync(code).filter(name => name.endsWith('.mjs'))
  const bytes = (name: string) => statSync(`${code}/${name}`).size
  const total = files.reduce((sum, name) => sum + bytes(name), 0)
  results['bundle'] = { entry: bytes('index.mjs'), total }
  print(
    `\nBundle of the login: entry ${(bytes('index.mjs') / 1000).toFixed(0)} KB, with all chunks ${(total / 1000).toFixed(0)} KB`,
  )
}

/** The time from the start of a process to its first answer, in milliseconds. */
interface First {
  cpu: number
  wall: number
}

/** The script of a process that answers one event and reports its processor time. */
const HARNESS = (module: string, event: unknown) => `
  import { handler } from ${JSON.stringify(module)}
  const answer = await handler(${JSON.stringify(event)}, { getRemainingTimeInMillis: () => 15000 })
  if (answer.statusCode !== 200) { process.stderr.write(answer.body); process.exit(1) }
  const { user, system } = process.cpuUsage()
  process.stderr.write('cpu ' + (user + system) / 1000)
  process.exit(0)`

function firstAnswer(script: string, environment: Record<string, string>): First {
  const started = performance.now()
  const run = spawnSync(process.execPath, [script], { env: { ...environment, PATH: process.env['PATH'] } })
  const wall = performance.now() - started
  const said = run.stderr.toString()
  const cpu = Number(/cpu ([\d.]+)$/.exec(said)?.[1])
  if (run.status !== 0 || Number.isNaN(cpu)) throw new Error(said)
  return { cpu, wall }
}

/**
 * `--start`: measures the first login of a new process, for each type, and a process with an empty function.
 * The new processes use no compile cache.
 * @param directory for scripts
 */
export async function startBench(
  host: LocalHost,
  world: World,
  directory: string,
  tools: Tools,
): Promise<void> {
  const { print, results } = tools
  printSizes(host, tools)
  const { code, environment } = host.runtimeOf('login')
  writeFileSync(`${directory}/empty.mjs`, 'export const handler = async () => ({ statusCode: 200 })')
  const { service } = await makeJwtWorld(host)
  const login = (body: string | undefined, path?: string) =>
    HARNESS(`${code}/index.mjs`, loginEvent(body ?? '', path))
  const scripts: Record<string, string> = {
    empty: HARNESS(`${directory}/empty.mjs`, {}),
    iam: login(world.iam[0]),
    ec2: login(world.ec2[0]),
    jwt: login(service.bodies[0], service.path),
  }
  for (const [name, text] of Object.entries(scripts)) writeFileSync(`${directory}/${name}-start.mjs`, text)
  const { NODE_COMPILE_CACHE: _, ...cold } = environment
  const found: Record<string, First[]> = {}
  for (let round = 0; round < ROUNDS; round++)
    for (const name of Object.keys(scripts)) {
      found[name] = [...(found[name] ?? []), firstAnswer(`${directory}/${name}-start.mjs`, cold)]
    }
  print(`\nFrom the start of a process to its first answer, medians of ${ROUNDS} in turns, nothing cached`)
  const of = (name: string, part: keyof First) => median((found[name] ?? []).map(one => one[part]))
  for (const name of Object.keys(scripts)) {
    const ratios = (found[name] ?? []).map(
      (one, round) => one.cpu / (found['empty']?.[round]?.cpu ?? one.cpu),
    )
    const told = { cpu: of(name, 'cpu'), wall: of(name, 'wall'), ratio: median(ratios) }
    results[`start ${name}`] = told
    print(
      `  ${name.padEnd(5)}   processor time ${told.cpu.toFixed(0)} ms, ${told.ratio.toFixed(2)} × the empty bundle   (wall ${told.wall.toFixed(0)} ms)`,
    )
  }
}
