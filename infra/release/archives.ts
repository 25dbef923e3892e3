import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync, zipSync } from 'fflate'

/** A file of an archive. `name` is relative to the archive's root. */
export interface ArchiveEntry {
  name: string
  bytes: Uint8Array
}

/** Time of every entry, as fields of a local time because ZIP stores local times. npm uses the same time. */
const ENTRY_TIME = [1985, 9, 26, 8, 15] as const
const ENTRY_TIME_SECONDS = Date.UTC(...ENTRY_TIME) / 1000

const MODE = 0o644
const EXECUTABLE_MODE = 0o755
const BLOCK = 512

/** Compares two entries by name, independently of the machine's language. */
export const byName = (a: ArchiveEntry, b: ArchiveEntry): number => (a.name < b.name ? -1 : 1)

/** Reads all files of a folder and its subfolders. @param prefix of the entries' names */
export const readEntries = (folder: string, prefix = ''): ArchiveEntry[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(one => one.isFile())
    .map(one => `${one.parentPath}/${one.name}`)
    .map(path => ({ name: prefix + path.slice(folder.length + 1), bytes: readFileSync(path) }))

/**
 * Packs files into a ZIP archive. The bytes depend on names and contents only: entries are sorted, and have one time
 * and one mode.
 */
export function packZip(entries: readonly ArchiveEntry[]): Uint8Array {
  const options = { mtime: new Date(...ENTRY_TIME), os: 3, attrs: MODE << 16, level: 9 } as const
  return zipSync(
    Object.fromEntries([...entries].sort(byName).map(({ name, bytes }) => [name, [bytes, options]])),
  )
}

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`

/**
 * Returns the ustar header of a file.
 * @param root folder of the file, which has a field of its own
 * @throws Error if the name is longer than its field
 */
function headerOf(root: string, name: string, size: number, mode: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`the name ${name} has more than 100 bytes`)
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0)
  header.write(octal(mode, 7), 100)
  // owner and group
  header.write(octal(0, 7) + octal(0, 7), 108)
  header.write(octal(size, 11), 124)
  header.write(octal(ENTRY_TIME_SECONDS, 11), 136)
  // the checksum counts its own field as blanks; type 0 is a file
  header.write(`${' '.repeat(8)}0`, 148)
  header.write('ustar\0' + '00', 257)
  header.write(root, 345)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)} `, 148)
  return header
}

/**
 * Packs files into a gzipped tar archive. The bytes depend on names and contents only, as those of `packZip` do.
 * @param root folder of all entries in the archive
 * @param executables names of the entries that can be executed
 */
export function packTarball(
  root: string,
  entries: readonly ArchiveEntry[],
  executables: readonly string[] = [],
): Uint8Array {
  const blocks = [...entries].sort(byName).flatMap(({ name, bytes }) => {
    const mode = executables.includes(name) ? EXECUTABLE_MODE : MODE
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)
    return [headerOf(root, name, bytes.length, mode), bytes, padding]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { mtime: 0, level: 9 })
}
