import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { root } from '../checkout.ts'

/** What differs from a deployment: names, and what protects data against mistakes. */
export interface LocalSettings {
  legacySignatures: boolean
}

const settingsOf = ({ legacySignatures }: LocalSettings) => ({
  stage: 'local',
  deletionProtection: false,
  legacySignatures,
  assumableRoleArns: ['arn:*:iam::*:role/*'],
})

/** Fingerprint of files, and of what else decides what is made from them. */
function fingerprint(folders: readonly string[], ...more: unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify(more)).update(process.version)
  const files = folders.flatMap(folder =>
    readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !entry.parentPath.includes('infra/local'))
      .map(entry => `${entry.parentPath}/${entry.name}`),
  )
  for (const file of [...files.sort(), `${root}package-lock.json`, `${root}cdk.json`, `${root}package.json`])
    hash.update(file).update(readFileSync(file))
  return hash.digest('hex')
}

/** Makes what a directory holds, unless it was made already from the same. */
async function upToDate(directory: string, wanted: string, make: () => Promise<void>): Promise<string> {
  const stamp = `${directory}/fingerprint`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return directory
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  await make()
  writeFileSync(stamp, wanted)
  return directory
}

const make = async (...order: string[]): Promise<void> => {
  await promisify(execFile)(process.execPath, [`${root}infra/local/make.ts`, ...order])
}

/** The bundles of all functions, which depend on the sources only. */
const bundles = (): Promise<string> => {
  const directory = `${root}.build/local-functions`
  const wanted = fingerprint(['shared', 'functions', 'infra/build'])
  return upToDate(directory, wanted, () => make('functions', directory))
}

/** Folders without code, for those who read the templates only. */
const noBundles = (): Promise<string> => {
  const directory = `${root}.build/no-functions`
  return upToDate(directory, fingerprint(['functions'], 'no code'), async () => {
    for (const name of readdirSync(`${root}functions`)) {
      mkdirSync(`${directory}/${name}`)
      writeFileSync(`${directory}/${name}/index.mjs`, `// ${name}\n`)
    }
  })
}

/**
 * Synthesises the stacks, and bundles the functions, unless that was done already from the same sources.
 * @param code whether the functions' code is wanted
 * @returns the directory of the assembly
 */
export async function synthesise(local: LocalSettings, code = true): Promise<string> {
  const settings = settingsOf(local)
  const functions = await (code ? bundles() : noBundles())
  const made = readFileSync(`${functions}/fingerprint`, 'utf8')
  const wanted = fingerprint(['infra', 'shared', 'functions'], settings, made)
  const name = createHash('sha256')
    .update(JSON.stringify([settings, code]))
    .digest('hex')
    .slice(0, 8)
  const directory = `${root}.build/local-${name}`
  return upToDate(directory, wanted, () => make('templates', directory, functions, JSON.stringify(settings)))
}
