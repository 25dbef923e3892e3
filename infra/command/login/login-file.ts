import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { parseJsonObject } from '../../../shared/values/json.ts'
import { CommandEnded } from '../ended.ts'
import { OWNER_ONLY } from '../own-file.ts'

/** The body of a login request, as a client sends the body to `auth/<mount>/login`. */
export type LoginBody = Readonly<Record<string, unknown>>

/** A login has about 2 kB. */
const MOST_BYTES = 64 * 1024

/**
 * Writes a login to a new file, which only its owner may read, because a login is a credential.
 * @throws CommandEnded `usage` if the file exists or cannot be written
 */
export function writeLoginFile(path: string, login: LoginBody): void {
  const file = orFileFault(path, () => openSync(path, 'wx', OWNER_ONLY))
  try {
    writeSync(file, formatLogin(login))
  } finally {
    closeSync(file)
  }
}

export const formatLogin = (login: LoginBody): string => `${JSON.stringify(login, null, 2)}\n`

/** Reads the login that a workload wrote. @throws CommandEnded `usage` */
export function readLoginFile(path: string): LoginBody {
  const login = parseJsonObject(orFileFault(path, () => readBounded(path)))
  if (!login)
    throw new CommandEnded(
      'usage',
      `${path} must be a login as JSON of at most 64 KiB, as cloud-auth login --dry-run writes it`,
    )
  return login
}

/** Reads a file, also a pipe. Returns the empty text for a file that is too large. */
function readBounded(path: string): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(MOST_BYTES + 1)
    let size = 0
    for (let read = -1; read !== 0 && size < bytes.length; size += read)
      read = readSync(file, bytes, size, bytes.length - size, null)
    return size > MOST_BYTES ? '' : bytes.toString('utf8', 0, size)
  } finally {
    closeSync(file)
  }
}

function orFileFault<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandEnded(
      'usage',
      code === 'EEXIST'
        ? `${path} exists, and cloud-auth overwrites no file. Name a new file`
        : `${path} cannot be opened (${code})`,
    )
  }
}
