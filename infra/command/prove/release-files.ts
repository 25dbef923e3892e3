import { readdirSync, readFileSync } from 'node:fs'
import { CommandEnded } from '../ended.ts'

/** The parts of a release that a run deploys. */
export interface ReleaseFiles {
  version: string
  templates: Readonly<Record<'data' | 'api' | 'workers', string>>
  /** archives of the functions' code */
  assets: readonly { name: string; read(): Uint8Array }[]
}

const ASSET = /^[0-9a-f]{64}\.zip$/

/**
 * Reads the unpacked templates of a release.
 * @throws CommandEnded `usage` if the folder is not such a folder
 */
export function readReleaseFiles(folder: string): ReleaseFiles {
  const read = (part: string): string => readFileSync(`${folder}/${part}.template.json`, 'utf8')
  try {
    const names = readdirSync(`${folder}/assets`).filter(name => ASSET.test(name))
    if (names.length === 0) throw new Error('assets/ has no ZIP file')
    const templates = { data: read('data'), api: read('api'), workers: read('workers') }
    const version = /"SERVICE_VERSION": "([\w.-]+)"/.exec(templates.api)?.[1]
    if (version === undefined) throw new Error('api.template.json has no SERVICE_VERSION')
    return {
      version,
      templates,
      assets: names.sort().map(name => ({ name, read: () => readFileSync(`${folder}/assets/${name}`) })),
    }
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    throw new CommandEnded(
      'usage',
      `--release must be the unpacked templates of a release, with assets/, but ${JSON.stringify(folder)} is not (${why})`,
    )
  }
}
