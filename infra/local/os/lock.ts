import { realpathSync } from 'node:fs'
import { readdir, readlink } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { textOf, writeWhole } from './cluster-file.ts'

/** A directory that one process works on. */
export interface Lock {
  /** lets others have it; the end of this process, however it comes, does so too */
  close(): void
}

/** Some ten seconds: a busy machine may stop a process between the lock and the note of who has it. */
const LOCK_TRIES = 1000
const LOCK_PAUSE_MS = 10

/**
 * Takes a directory for this process. What is locked is a file, by the operating system: nothing of it outlives the
 * process, so there is no lock that is stale. Who has it is written down beside it, for whoever comes second.
 * @param name several things in a directory may be locked
 * @param taken the error for whoever comes second; `holder`: id of the process that has it
 * @throws what `taken` makes
 */
export async function takeLock(
  directory: string,
  name: string,
  taken: (holder: number) => Error,
): Promise<Lock> {
  const database = locked(`${directory}/${name}.lock`)
  if (!database) throw taken(await holderOf(directory, name))
  writeWhole(`${directory}/${name}.holder`, String(process.pid))
  held.add(database)
  return {
    close: () => {
      held.delete(database)
      database.close()
    },
  }
}

/** Locks of this process. A database that nothing refers to is closed by the garbage collector, and its lock ends with it. */
const held = new Set<DatabaseSync>()

/** Reports whether a process that runs works on a directory, this one included. */
export function isLockHeld(directory: string, name: string): boolean {
  // a lock is tried only where somebody may have it: a try would be in the way of a process that takes it now
  if (!runs(Number(textOf(`${directory}/${name}.holder`) ?? 0))) return false
  const database = locked(`${directory}/${name}.lock`)
  database?.close()
  return database === undefined
}

/** @returns undefined where another process has it */
function locked(file: string): DatabaseSync | undefined {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    if ((error as { errcode?: number }).errcode === BUSY) return undefined
    throw error
  }
}

const BUSY = 5

/**
 * Returns the id of the process that has a lock; 0: unknown. A moment after it was taken, the file may still name an earlier
 * process, which has ended, and whose id may be another's by now: only a process that has the locked file open counts.
 */
async function holderOf(directory: string, name: string): Promise<number> {
  const lock = realpathSync(`${directory}/${name}.lock`)
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    const pid = Number(textOf(`${directory}/${name}.holder`) ?? 0)
    if (runs(pid) && (await hasOpen(pid, lock))) return pid
    await setTimeout(LOCK_PAUSE_MS)
  }
  return 0
}

/** Reports whether a process has a file open; of other users' processes, and where there is no /proc, it is assumed. */
async function hasOpen(pid: number, file: string): Promise<boolean> {
  const open = await readdir(`/proc/${pid}/fd`).catch(() => undefined)
  const targets = open?.map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''))
  return targets === undefined || (await Promise.all(targets)).includes(file)
}

/** Whether there is a process of that id, which may be somebody else's. */
function runs(pid: number): boolean {
  if (!(pid > 0)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
