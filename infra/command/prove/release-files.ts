import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CommandEnded } from '../ended.ts'
import { type TarFile, unpackTarball } from './tarball.ts'

/** The parts of a release that a run deploys. */
export interface ReleaseFiles {
  version: string
  templates: Readonly<Record<'data' | 'api' | 'workers', string>>
  /** archives of the functions' code */
  assets: readonly { name: string; bytes: Uint8Array }[]
}

const SUMS = 'SHA256SUMS'
const SUM = /^([0-9a-f]{64}) {2}([\w][\w.-]*)$/
const ARCHIVE = /^cloud-auth-[\w.-]+-templates\.tgz$/
const ASSET = /^assets\/([0-9a-f]{64}\.zip)$/

/** Reads a file. @returns undefined if the folder lacks the file */
function readOptional(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Reads the files of a release folder that `SHA256SUMS` names. Files that were not downloaded are left out.
 * @throws Error if a file differs from its checksum
 */
function readCheckedFiles(folder: string): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  const listed = new Set<string>()
  for (const line of readFileSync(`${folder}/${SUMS}`, 'utf8').split('\n').filter(Boolean)) {
    const [, sum, name = ''] = SUM.exec(line) ?? []
    if (sum === undefined || listed.has(name)) throw new Error(`${SUMS} has an invalid line`)
    listed.add(name)
    const bytes = readOptional(`${folder}/${name}`)
    if (bytes === undefined) continue
    if (createHash('sha256').update(bytes).digest('hex') !== sum)
      throw new Error(`${name} differs from its checksum in ${SUMS}`)
    files.set(name, bytes)
  }
  return files
}

/** Reads the templates and the code from the files of the archive, without its first folder. */
function readTemplates(files: readonly TarFile[]): ReleaseFiles {
  const read = (part: string): string => {
    const name = `${part}.template.json`
    const found = files.find(one => one.name === name)
    if (found === undefined) throw new Error(`the archive has no ${name}`)
    return Buffer.from(found.bytes).toString()
  }
  const assets = files.flatMap(({ name, bytes }) => {
    const [, asset] = ASSET.exec(name) ?? []
    return asset === undefined ? [] : [{ name: asset, bytes }]
  })
  if (assets.length === 0) throw new Error('the archive has no code of functions')
  const templates = { data: read('data'), api: read('api'), workers: read('workers') }
  const version = /"SERVICE_VERSION": ?"([\w.-]+)"/.exec(templates.api)?.[1]
  if (version === undefined) throw new Error('api.template.json has no SERVICE_VERSION')
  return { version, templates, assets }
}

/**
 * Reads the templates of a release. Unpacks the archive in memory, after its checksum was compared.
 * @param folder folder with `SHA256SUMS` and the archive of the templates, as a release has them
 * @throws CommandEnded `refused` if a file differs from its checksum, or `usage` if the folder is not a release
 */
export function readReleaseFiles(folder: string): ReleaseFiles {
  const refuse = (why: string) =>
    new CommandEnded(
      'refused',
      `the release ${JSON.stringify(folder)} cannot be used: ${why}. Nothing was made`,
    )
  try {
    const archives = [...readCheckedFiles(folder)].filter(([name]) => ARCHIVE.test(name))
    const [archive] = archives
    if (archive === undefined || archives.length > 1)
      throw new Error(`the folder must have one archive cloud-auth-<version>-templates.tgz of ${SUMS}`)
    return readTemplates(unpackTarball(archive[1]))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') throw refuse(`it has no ${SUMS}`)
    throw refuse(message)
  }
}
