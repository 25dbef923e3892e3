import { realpathSync } from 'node:fs'
import { readdir, readlink } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { readTextFile, writeFileAtomically } from './cluster-file.ts'
import { isProcessRunning } from './running.ts'

/** A lock on a directory. */
export interface DirectoryLock {
  /** releases the lock; the operating system also releases it at the end of this process */
  close(): void
}

/**
 * Number of tries to take a lock, for some ten seconds, because a busy machine may suspend a process between
 * taking the lock and writing its id.
 */
const LOCK_TRIES = 1000
const LOCK_PAUSE_MS = 10

/**
 * Locks a directory for this process. The operating system locks a file for the process, so a lock is never
 * stale. The holder's process id is written to a file next to the lock file for error messages.
 * @param name several locks in one directory are possible
 * @param taken creates the error if another process has the lock; `holder` is its id
 * @throws the error that `taken` creates
 */
export async function takeLock(
  directory: string,
  name: string,
  taken: (holder: number) => Error,
): Promise<DirectoryLock> {
  const database = tryLock(`${directory}/${name}.lock`)
  if (!database) throw taken(await holderOf(directory, name))
  writeFileAtomically(`${directory}/${name}.holder`, String(process.pid))
  held.add(database)
  return {
    close: () => {
      held.delete(database)
      database.close()
    },
  }
}

/**
 * Locks of this process. The garbage collector would close an unreferenced database and so release its lock.
 */
const held = new Set<DatabaseSync>()

/** Reports whether a running process, possibly this process, holds a lock. */
export function isDirectoryLockHeld(directory: string, name: string): boolean {
  // tries the lock only if the holder's file names a running process, because a try would disturb a process
  // that takes the lock at this moment
  if (!isProcessRunning(Number(readTextFile(`${directory}/${name}.holder`) ?? 0))) return false
  const database = tryLock(`${directory}/${name}.lock`)
  database?.close()
  return database === undefined
}

/** Takes a lock. @returns undefined if another process holds the lock */
function tryLock(file: string): DatabaseSync | undefined {
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
 * Returns the id of the process that holds a lock; 0: unknown. Just after a process took the lock, the file
 * may still name an earlier process whose id was reused, so only a process that has the lock file open
 * counts.
 */
async function holderOf(directory: string, name: string): Promise<number> {
  const lock = realpathSync(`${directory}/${name}.lock`)
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    const pid = Number(readTextFile(`${directory}/${name}.holder`) ?? 0)
    if (isProcessRunning(pid) && (await hasOpen(pid, lock))) return pid
    await setTimeout(LOCK_PAUSE_MS)
  }
  return 0
}

/**
 * Reports whether a process has a file open. Returns true for other users' processes and on systems without
 * /proc.
 */
async function hasOpen(pid: number, file: string): Promise<boolean> {
  const open = await readdir(`/proc/${pid}/fd`).catch(() => undefined)
  const targets = open?.map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''))
  return targets === undefined || (await Promise.all(targets)).includes(file)
}
