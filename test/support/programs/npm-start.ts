import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { isEngineUsingDatabase } from '../../../infra/local/engine/process.ts'
import type { ClusterStateFile } from '../../../infra/local/os/cluster-file.ts'
import { type ProviderNote, readProviderNote } from '../../../infra/local/provider/note.ts'

/** A process of `npm start`. */
export interface Run {
  child: ChildProcess
  output: () => string
  /** waits until the output contains a text @throws when the process ends before it prints the text */
  until: (text: string) => Promise<void>
  ended: Promise<number | null>
}

/** Reports whether a process has ended, by itself or by a signal. */
export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null

/** Returns the exit code or the signal with which a process has ended. */
export const endOf = ({ exitCode, signalCode }: ChildProcess): string =>
  `ended with ${exitCode ?? signalCode}`

const children: ChildProcess[] = []
const clusters: string[] = []

/** The command of `npm start`: the host with its Node flags. */
const { scripts } = JSON.parse(readFileSync(`${checkoutRoot}package.json`, 'utf8')) as {
  scripts: { start: string }
}
const [, ...COMMAND] = scripts.start.split(' ')
/** The Node flags of a host. */
export const HOST_FLAGS: readonly string[] = COMMAND.filter(one => one.startsWith('--'))

export const start = (...options: string[]): Run => startIn({}, ...options)

/**
 * The shell command that starts the host with the most open umask, because the host must restrict the access
 * to its files itself.
 */
const OPEN_MASK = 'umask 000; exec "$0" "$@"'

/** Starts the host like the test helper `start`, with further environment variables. */
export function startIn(environment: Record<string, string>, ...options: string[]): Run {
  const child = spawn('bash', ['-c', OPEN_MASK, process.execPath, ...COMMAND, ...options], {
    cwd: checkoutRoot,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (text += chunk))
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const until = async (wanted: string) => {
    while (!text.includes(wanted)) {
      if (hasEnded(child)) throw new Error(`the text did not come: ${wanted}\n${endOf(child)}: ${text}`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  return { child, output: () => text, until, ended }
}

/** AWS access keys of a user's shell. The functions must not use these keys. */
export const foreignKeys = {
  AWS_ACCESS_KEY_ID: 'AKIAFOREIGNFOREIGN01',
  AWS_SECRET_ACCESS_KEY: 'x',
  AWS_SESSION_TOKEN: 'y',
}

/** Returns a name for a kept cluster, which `cleanUp` removes at the end of the test file. */
export function freshCluster(name: string): string {
  const cluster = `${name}-${process.pid}`
  clusters.push(cluster)
  return cluster
}

export const folderOf = (cluster: string): string => `${checkoutRoot}.local/${cluster}`

/** Reads the file in which a kept cluster describes itself. */
export const clusterFile = (cluster: string): ClusterStateFile =>
  JSON.parse(readFileSync(`${folderOf(cluster)}/cluster.json`, 'utf8')) as ClusterStateFile

/** Returns the process ID of a kept cluster's engine. */
export const enginePid = (cluster: string): number =>
  (JSON.parse(readFileSync(`${folderOf(cluster)}/engine.json`, 'utf8')) as { pid: number }).pid

/** Reads the file in which a kept cluster's imitated AWS describes itself. */
export const awsOf = (cluster: string): ProviderNote => readProviderNote(folderOf(cluster)) as ProviderNote

/**
 * Reports whether a process is running. A process that has ended without its parent waiting for it has no
 * command line.
 */
export function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

/**
 * Reports whether a process is a kept cluster's engine. The operating system may have given the process ID of
 * an ended engine to another process.
 */
export const isEngineOf = (cluster: string, pid: number): boolean =>
  isEngineUsingDatabase(pid, `${folderOf(cluster)}/dynamodb.sqlite`)

/** Kills a kept cluster's engine. @returns true when the engine ran */
export function killEngine(cluster: string): boolean {
  try {
    const pid = enginePid(cluster)
    return isEngineOf(cluster, pid) && process.kill(pid, 'SIGKILL')
  } catch {
    // the engine ended with its host, or is just ending
    return false
  }
}

/** Ends the processes of a test file and removes its clusters. */
export function cleanUp(): void {
  for (const child of children) child.kill('SIGKILL')
  for (const cluster of clusters) {
    killEngine(cluster)
    rmSync(folderOf(cluster), { recursive: true, force: true })
  }
}
