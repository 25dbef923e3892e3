import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, renameSync, symlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { CommandEnded } from '../ended.ts'
import { removeIfThere, type TokenPlace } from './token-file.ts'

/** The lock of a token file: only its holder writes the file. */
export interface AgentLock {
  /** Reports whether this process still holds the lock. */
  isHeld(): boolean
  release(): void
}

/** Text of a lock: process ID, start of the process, and time of the lock. */
const HOLDER = /^cloud-auth-agent:(\d+):([\w-]+):([\w.:-]+)$/

/**
 * Acquires the lock of a token file. The lock is a symbolic link whose target names the holder, because the
 * system makes a link with its target in one step. A lock whose process has ended is replaced.
 * @throws CommandEnded `occupied` if a running agent holds the lock
 */
export function acquireAgentLock(place: TokenPlace, startOf = findProcessStart): AgentLock {
  const start = startOf(process.pid)
  if (start === undefined) throw new CommandEnded('refused', 'the agent cannot read the start of its process')
  const own = `cloud-auth-agent:${process.pid}:${start}:${new Date().toISOString()}`
  while (!linked(own, place.lock)) {
    const holder = readLock(place.lock)
    if (holder === undefined) continue
    refuseRunning(holder, place, startOf)
    removeEndedLock(holder, place)
  }
  removeMovedLocks(place)
  const isHeld = () => readLock(place.lock) === own
  return { isHeld, release: () => isHeld() && removeIfThere(place.lock) }
}

function linked(own: string, lock: string): boolean {
  try {
    symlinkSync(own, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Returns the text of a lock; undefined: there is no lock. */
function readLock(lock: string): string | undefined {
  try {
    return readlinkSync(lock)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    // EINVAL: not a link
    throw new CommandEnded('usage', `${lock} is not the lock of an agent (${code}). Remove it`)
  }
}

function refuseRunning(holder: string, { lock, file }: TokenPlace, startOf: typeof findProcessStart): void {
  const [, pid = '', start, since] = HOLDER.exec(holder) ?? []
  if (start === undefined) throw new CommandEnded('usage', `${lock} is not the lock of an agent. Remove it`)
  if (startOf(Number(pid)) === start)
    throw new CommandEnded(
      'occupied',
      `the agent with process ID ${pid} keeps ${file} since ${since}. Stop that agent first, or name another file`,
    )
}

/**
 * Removes the lock of a process that has ended. Another agent may replace the lock at the same time, so the lock
 * is renamed first and compared: a lock of a running agent goes back.
 */
function removeEndedLock(holder: string, { lock }: TokenPlace): void {
  const moved = `${lock}.${process.pid}`
  try {
    renameSync(lock, moved)
    const found = readLock(moved)
    if (found !== undefined && found !== holder) linked(found, lock)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  } finally {
    removeIfThere(moved)
  }
}

/** Removes locks that agents renamed before they died. */
function removeMovedLocks({ folder, lock }: TokenPlace): void {
  const prefix = `${basename(lock)}.`
  for (const name of readdirSync(folder))
    if (name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length))) removeIfThere(`${folder}/${name}`)
}

/** Field 22 of /proc/<pid>/stat, counted after the process name, is the start in ticks after the boot. */
const START_FIELD = 19

/**
 * Returns a text that identifies the start of a process, because the system gives process IDs again.
 * @returns undefined if no process has the ID
 */
function findProcessStart(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') return startByPs(pid)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // a process that has ended and whose parent has not waited keeps its entry
    return fields[0] === 'Z' ? undefined : `${boot}-${fields[START_FIELD]}`
  } catch {
    return undefined
  }
}

const startByPs = (pid: number): string =>
  execFileSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .replaceAll(/\W+/g, '-')
