import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { writeFileAtomically } from '../os/cluster-file.ts'

const noteFile = (directory: string): string => `${directory}/engine.json`

/** Writes the process ID of the engine that this host has started to a file, for operators. */
export const recordEngineProcess = (directory: string, pid: number): void =>
  writeFileAtomically(noteFile(directory), JSON.stringify({ pid, host: process.pid }))

export const forgetEngineProcess = (directory: string): void => rmSync(noteFile(directory), { force: true })

const ENGINE_EXIT_TRIES = 500
const ENGINE_EXIT_PAUSE_MS = 10

/**
 * Ends an engine that a killed host left behind, because two processes must not write to one database. Finds
 * the engine by its command line, which names the database. The caller holds the directory's lock, so no
 * running host uses the engine.
 * @throws Error if the engine cannot be ended
 */
export async function stopStaleEngine(directory: string, database: string): Promise<void> {
  for (const pid of enginesOn(database)) end(pid)
  for (let tries = 0; tries < ENGINE_EXIT_TRIES && enginesOn(database).length > 0; tries++)
    await setTimeout(ENGINE_EXIT_PAUSE_MS)
  const [left] = enginesOn(database)
  if (left !== undefined) throw new Error(`process ${left} uses ${database} and cannot be ended`)
  forgetEngineProcess(directory)
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // the engine has ended meanwhile; the caller reports an engine that cannot be ended
  }
}

/** Returns the processes that have opened a database, or an empty list where processes cannot be listed. */
function enginesOn(database: string): number[] {
  const pids = namesIn('/proc').filter(name => /^\d+$/.test(name))
  return pids.filter(pid => commandOf(pid).split('\0').includes(database)).map(Number)
}

const namesIn = (directory: string): string[] => {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** Returns the command line of a process. Empty: the process has ended. */
const commandOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Reports whether a process works on a database. A process id alone may have been reused. */
export const isEngineUsingDatabase = (pid: number, database: string): boolean =>
  enginesOn(database).includes(pid)
