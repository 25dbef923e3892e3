import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type ArchiveEntry, packTarball } from '../../../../../infra/release/archives.ts'

const CODE = 'a'.repeat(64)

/** The files of a small release. */
export const smallRelease: readonly ArchiveEntry[] = [
  ...['data', 'api', 'workers'].map(part => ({
    name: `${part}.template.json`,
    bytes: Buffer.from('{"Resources":{}, "SERVICE_VERSION": "1.0.0"}'),
  })),
  { name: `assets/${CODE}.zip`, bytes: Buffer.from('code') },
]

export const ARCHIVE = 'cloud-auth-1.0.0-templates.tgz'

/** Writes a release folder as `npm run release` does: the archive of the templates, and `SHA256SUMS`. */
export function writeRelease(folder: string, entries: readonly ArchiveEntry[] = smallRelease): void {
  const bytes = packTarball(ARCHIVE.replace('.tgz', ''), entries)
  const sum = createHash('sha256').update(bytes).digest('hex')
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/${ARCHIVE}`, bytes)
  writeFileSync(`${folder}/SHA256SUMS`, `${'0'.repeat(64)}  cloud-auth-1.0.0.tgz\n${sum}  ${ARCHIVE}\n`)
}
