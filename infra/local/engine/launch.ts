import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { freePort } from '../os/loopback.ts'
import { forgetEngine, noteEngine } from './process.ts'

/** A process of the engine from npm, which listens. */
interface Launched {
  url: string
  pid: number
  stop: () => Promise<void>
}

function binary(): string {
  const named = process.env['DYNOXIDE_BIN']
  if (named) return named
  try {
    return createRequire(import.meta.url).resolve('@dynoxide/linux-x64/dynoxide')
  } catch {
    throw new Error(
      `there is no DynamoDB-compatible engine for ${process.platform}-${process.arch} on npm: start one (DynamoDB Local, say) and name it in DYNAMODB_ENDPOINT`,
    )
  }
}

const ENGINE_START_TRIES = 5

/**
 * Starts the engine on a database file. It has to be told its port, and somebody else may take a free one before it
 * does: then it ends, and another port is tried.
 * @param directory where its process is noted
 * @param options `portOf` gives a port that is free; `apart`: signals of a terminal do not reach it
 */
export async function launchEngine(
  directory: string,
  file: string,
  { portOf = freePort, apart = false } = {},
): Promise<Launched> {
  for (let tries = 1; ; tries++) {
    const port = await portOf()
    const child = spawn(binary(), ['--host', '127.0.0.1', '--port', String(port), '--db-path', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: apart,
      // all of its threads wait for one lock, which costs more than the work: half of what transactions take
      env: { ...process.env, TOKIO_WORKER_THREADS: '1' },
    })
    const pid = child.pid ?? 0
    endsWithThis(child)
    noteEngine(directory, pid)
    const stop = async () => {
      await ended(child, () => child.kill('SIGTERM'))
      forgetEngine(directory)
    }
    const fault = await faultOf(child)
    if (fault === undefined) return { url: `http://127.0.0.1:${port}`, pid, stop }
    forgetEngine(directory)
    if (tries === ENGINE_START_TRIES) throw new Error(`the engine does not start: ${fault}`)
  }
}

/** Engines of this process that have not ended. */
const running = new Set<ChildProcess>()

/** However this process exits, in the middle of something or not, its engine does: whoever is killed cannot see to it. */
function endsWithThis(child: ChildProcess): void {
  if (running.size === 0) process.once('exit', killAll)
  running.add(child)
  child.once('exit', () => {
    running.delete(child)
    if (running.size === 0) process.off('exit', killAll)
  })
}

function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

const ended = (child: ChildProcess, end: () => void): Promise<void> =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    end()
  })

const ENGINE_START_TIMEOUT_MS = 60_000

/**
 * Waits until an engine says that it listens. That something answers on its port would not tell: it may be another's,
 * and two clusters would have one database.
 * @returns why it ended instead
 */
const faultOf = (child: ChildProcess): Promise<string | undefined> =>
  new Promise<string | undefined>(resolve => {
    let said = ''
    // read for as long as it runs, or it would stand still one day
    child.stderr?.on('data', chunk => {
      said = (said + chunk).slice(-500)
      if (said.includes('listening on')) resolve(undefined)
    })
    child.once('error', error => resolve(error.message))
    child.once('close', (code, signal) => resolve(`${said.trim()} (${signal ?? `code ${code}`})`))
    const late = setTimeout(() => child.kill('SIGKILL'), ENGINE_START_TIMEOUT_MS)
    for (const event of ['data', 'close']) child.stderr?.once(event, () => clearTimeout(late))
  })
