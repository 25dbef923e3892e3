import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { CommandEnded } from '../ended.ts'
import { OWNER_ONLY } from '../own-file.ts'

/** The file of an agent, and the names next to it that only the agent uses. */
export interface TokenPlace {
  folder: string
  file: string
  /** the new file before it gets its name; the holder of the lock owns this name */
  fresh: string
  lock: string
}

export function readTokenPlace(path: string): TokenPlace {
  const file = resolve(path)
  const [folder, name] = [dirname(file), basename(file)]
  return { folder, file, fresh: `${folder}/.${name}.new`, lock: `${folder}/.${name}.lock` }
}

const OTHERS_MAY_WRITE = 0o022
const STICKY = 0o1000

/**
 * Checks that nobody else can replace the file: its folder belongs to this user and others may not write there,
 * and the folders above belong to this user or root. A link, or a file of another owner, is refused too.
 * @throws CommandEnded `usage`
 */
export function checkTokenPlace({ folder, file }: TokenPlace): void {
  const user = process.getuid?.()
  if (user === undefined) throw new CommandEnded('usage', '--file needs a POSIX system with file owners')
  const own = statOf(folder, lstatSync)
  if (!own?.isDirectory())
    refuse(folder, own ? 'is a link or a file, not a folder. Name the folder itself' : 'does not exist')
  if (own?.uid !== user)
    refuse(folder, `belongs to user ${own?.uid}, not to user ${user}, who runs the agent`)
  if ((own?.mode ?? 0) & OTHERS_MAY_WRITE)
    refuse(folder, 'may be written by other users. Use chmod 700, or another folder')
  for (let above = dirname(realpathSync(folder)); ; above = dirname(above)) {
    const found = statOf(above, statSync)
    const isOpen = ((found?.mode ?? 0) & OTHERS_MAY_WRITE) !== 0 && ((found?.mode ?? 0) & STICKY) === 0
    if (!found || isOpen || (found.uid !== user && found.uid !== 0))
      refuse(above, `lies above ${file}, and another user could rename folders in it`)
    if (above === dirname(above)) break
  }
  const before = statOf(file, lstatSync)
  if (before && !before.isFile()) refuse(file, 'exists and is a link or a folder. Remove it')
  if (before && before.uid !== user) refuse(file, `belongs to user ${before.uid}. Remove it`)
}

function statOf(path: string, read: (path: string) => Stats): Stats | undefined {
  try {
    return read(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new CommandEnded('usage', `--file: ${path} cannot be read (${code})`)
  }
}

function refuse(path: string, why: string): never {
  throw new CommandEnded('usage', `--file: ${path} ${why}`)
}

const NEW_FILE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW

/**
 * Writes a token as a new file, and renames the new file, so a reader finds the old or the new token and
 * nothing else. Only the holder of the lock may call this.
 */
export function writeTokenFile(place: TokenPlace, token: string): void {
  checkTokenPlace(place)
  removeLeftFile(place)
  const handle = openSync(place.fresh, NEW_FILE, OWNER_ONLY)
  try {
    try {
      writeSync(handle, token)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(place.fresh, place.file)
  } catch (error) {
    removeLeftFile(place)
    throw error
  }
  // stores the new name too, because after a crash of the machine the file could have the old token
  const folder = openSync(place.folder, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Removes the new file of an agent that died before it could rename the file. */
export const removeLeftFile = ({ fresh }: TokenPlace): void => removeIfThere(fresh)

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Removes the file if it still has the agent's token. */
export function removeTokenFile({ file }: TokenPlace, token: string): void {
  try {
    if (readFileSync(file, 'utf8') === token) unlinkSync(file)
  } catch {
    // the file is gone or belongs to another user, and the token in it is revoked
  }
}
