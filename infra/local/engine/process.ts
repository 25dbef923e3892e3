import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { writeWhole } from '../os/cluster-file.ts'

const noteFile = (directory: string): string => `${directory}/engine.json`

/** Notes the engine that this host has started: for operators, and whoever kills it. */
export const noteEngine = (directory: string, pid: number): void =>
  writeWhole(noteFile(directory), JSON.stringify({ pid, host: process.pid }))

export const forgetEngine = (directory: string): void => rmSync(noteFile(directory), { force: true })

const ENGINE_EXIT_TRIES = 500
const ENGINE_EXIT_PAUSE_MS = 10

/**
 * Ends an engine that a host left behind when it was killed: two processes must not write to one database.
 * It is found by its command line, which names the database. Whoever asks has the directory's lock, so no host works
 * with it any more.
 *
 * @throws when the engine cannot be ended
 */
export async function stopStaleEngine(directory: string, database: string): Promise<void> {
  for (const pid of enginesOn(database)) end(pid)
  for (let tries = 0; tries < ENGINE_EXIT_TRIES && enginesOn(database).length > 0; tries++)
    await setTimeout(ENGINE_EXIT_PAUSE_MS)
  const [left] = enginesOn(database)
  if (left !== undefined) throw new Error(`process ${left} works on ${database} and cannot be ended`)
  forgetEngine(directory)
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended by itself meanwhile; one that must not be ended is found again
  }
}

/** Processes that have opened a database; none where processes cannot be looked at. */
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

/** The command line of a process; empty when it has ended. */
const commandOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Whether a process is one that works on a database: a number alone may be another process's by now. */
export const worksOn = (pid: number, database: string): boolean => enginesOn(database).includes(pid)
