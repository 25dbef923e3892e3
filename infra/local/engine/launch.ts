import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { findFreePort } from '../os/loopback.ts'
import { forgetEngineProcess, recordEngineProcess } from './process.ts'

/** A listening process of the engine from npm. */
interface LaunchedEngine {
  url: string
  stop: () => Promise<void>
}

function binary(): string {
  const named = process.env['DYNOXIDE_BIN']
  if (named) return named
  try {
    return createRequire(import.meta.url).resolve('@dynoxide/linux-x64/dynoxide')
  } catch {
    throw new Error(
      `npm has no DynamoDB-compatible engine for ${process.platform}-${process.arch}. Start one, for example DynamoDB Local, and name it in DYNAMODB_ENDPOINT`,
    )
  }
}

const ENGINE_START_TRIES = 5

/**
 * Starts the engine on a database file. The engine needs a port number, and another program may take the free
 * port first; in this case the engine ends and another port is tried.
 * @param directory directory of the note on the engine's process
 * @param options `portOf` returns a free port; `apart`: Ctrl-C in a terminal does not reach the engine
 */
export async function launchEngineProcess(
  directory: string,
  file: string,
  { portOf = findFreePort, apart = false } = {},
): Promise<LaunchedEngine> {
  for (let tries = 1; ; tries++) {
    const port = await portOf()
    const child = spawn(binary(), ['--host', '127.0.0.1', '--port', String(port), '--db-path', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: apart,
      // one thread, because several threads of the engine would contend for one lock, which takes half of a
      // transaction's time
      env: { ...process.env, TOKIO_WORKER_THREADS: '1' },
    })
    endsWithThis(child)
    recordEngineProcess(directory, child.pid ?? 0)
    const stop = async () => {
      await ended(child, () => child.kill('SIGTERM'))
      forgetEngineProcess(directory)
    }
    const fault = await faultOf(child)
    if (fault === undefined) return { url: `http://127.0.0.1:${port}`, stop }
    forgetEngineProcess(directory)
    if (tries === ENGINE_START_TRIES) throw new Error(`the DynamoDB engine does not start: ${fault}`)
  }
}

/** Engines of this process that are still running. */
const running = new Set<ChildProcess>()

/**
 * Kills the engine whenever this process exits. After a SIGKILL to this process, `stopStaleEngine` ends the
 * engine at the next start.
 */
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
 * Waits until the engine prints that it listens. An answer on the engine's port proves nothing, because
 * another engine may answer at this port, and two clusters would share a database.
 * @returns the error if the engine ended instead
 */
const faultOf = (child: ChildProcess): Promise<string | undefined> =>
  new Promise<string | undefined>(resolve => {
    let said = ''
    // reads the engine's output until its end, because a full pipe would block the engine
    child.stderr?.on('data', chunk => {
      said = (said + chunk).slice(-500)
      if (said.includes('listening on')) resolve(undefined)
    })
    child.once('error', error => resolve(error.message))
    child.once('close', (code, signal) => resolve(`${said.trim()} (${signal ?? `code ${code}`})`))
    const late = setTimeout(() => child.kill('SIGKILL'), ENGINE_START_TIMEOUT_MS)
    for (const event of ['data', 'close']) child.stderr?.once(event, () => clearTimeout(late))
  })
