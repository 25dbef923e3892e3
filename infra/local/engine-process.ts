import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

/** Which process of which host works on a database. */
interface Note {
  pid: number
  host: number
}

const noteFile = (directory: string): string => `${directory}/engine.json`

/** Notes the engine that this host has started. */
export function noteEngine(directory: string, pid: number): void {
  const note: Note = { pid, host: process.pid }
  writeFileSync(`${noteFile(directory)}.new`, JSON.stringify(note))
  renameSync(`${noteFile(directory)}.new`, noteFile(directory))
}

export const forgetEngine = (directory: string): void => rmSync(noteFile(directory), { force: true })

const TRIES = 500
const PAUSE_MS = 10

/**
 * Ends an engine that a host left behind when it was killed: two processes must not write to one database.
 * It is found by its command line, which names the database.
 *
 * @throws when the engine's host still runs, and when the engine cannot be ended
 */
export async function stopStaleEngine(directory: string, database: string): Promise<void> {
  const note = readNote(directory)
  for (const pid of enginesOn(database)) {
    // an engine whose host died has another parent
    if (note?.pid === pid && parentOf(pid) === note.host)
      throw new Error(runningAlready(directory, note.host))
    end(pid)
  }
  for (let tries = 0; tries < TRIES && enginesOn(database).length > 0; tries++) await setTimeout(PAUSE_MS)
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

const runningAlready = (directory: string, host: number): string =>
  `the cluster in ${directory} runs already, in process ${host}: stop it, or name another with --cluster`

function readNote(directory: string): Note | undefined {
  try {
    return JSON.parse(readFileSync(noteFile(directory), 'utf8')) as Note
  } catch {
    return undefined
  }
}

/** Processes that have opened a database; none where processes cannot be looked at. */
function enginesOn(database: string): number[] {
  const pids = namesIn('/proc').filter(name => /^\d+$/.test(name))
  return pids.filter(pid => fileOf(pid, 'cmdline').split('\0').includes(database)).map(Number)
}

const namesIn = (directory: string): string[] => {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** A file that tells of a process; empty when the process has ended. */
const fileOf = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/** Whether a process is one that works on a database: a number alone may be another process's by now. */
export const worksOn = (pid: number, database: string): boolean => enginesOn(database).includes(pid)

// pid (name, which may hold anything) state parent …
const parentOf = (pid: number): number =>
  Number(
    fileOf(String(pid), 'stat')
      .replace(/^.*\) /s, '')
      .split(' ')[1],
  )
