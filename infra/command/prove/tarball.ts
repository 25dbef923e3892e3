import { gunzipSync } from 'node:zlib'

/** A file of an archive. */
export interface TarFile {
  name: string
  bytes: Uint8Array
}

const BLOCK = 512
/** Maximum size of an unpacked archive. */
const MOST_BYTES = 256 * 1024 * 1024
const FILE = '0'

const fieldOf = (header: Buffer, from: number, length: number): string =>
  header.toString('utf8', from, from + length).split('\0')[0] ?? ''

/**
 * Unpacks the regular files of a gzipped tar archive in memory. Folders and links are left out.
 * @throws Error if the archive is malformed
 */
export function unpackTarball(packed: Uint8Array): TarFile[] {
  const archive = gunzipSync(packed, { maxOutputLength: MOST_BYTES })
  const files: TarFile[] = []
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const header = archive.subarray(at, at + BLOCK)
    const size = fieldOf(header, 124, 12).trim()
    const start = at + BLOCK
    const end = start + Number.parseInt(size, 8)
    if (!/^[0-7]{1,11}$/.test(size) || end > archive.length) throw new Error('the archive is malformed')
    if (fieldOf(header, 156, 1) === FILE)
      files.push({ name: fieldOf(header, 0, 100), bytes: archive.subarray(start, end) })
    at = start + Math.ceil((end - start) / BLOCK) * BLOCK
  }
  return files
}
