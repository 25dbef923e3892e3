import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { checkoutRoot } from '../../checkout.ts'
import { updateBuildIfOutdated } from './up-to-date.ts'

/** Settings that differ from a deployment's defaults. */
export interface LocalSettings {
  legacySignatures: boolean
  /** settings of a front end; default: the settings of the HTTP API */
  front?: object
}

const settingsOf = ({ legacySignatures, front }: LocalSettings) => ({
  ...front,
  stage: 'local',
  deletionProtection: false,
  // a local machine has no IAM to authorise invocations, and only its owner reaches it
  strictCeremony: false,
  legacySignatures,
  assumableRoleArns: ['arn:*:iam::*:role/*'],
  instanceEvents: {},
})

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns hashes of all sources of the functions and of the templates, except settings. Every file is read once. */
function sources(): { code: string; templates: string } {
  const code = fingerprint([
    ...filesIn('shared'),
    ...filesIn('functions'),
    ...filesIn('infra/build'),
    // the function that serves the OpenAPI document reads it
    'docs/openapi.json',
    'package-lock.json',
    'package.json',
  ])
  const rest = filesIn('infra').filter(file => !/^infra\/(build|command|local)\//.test(file))
  return { code, templates: digest(code + fingerprint([...rest, 'cdk.json'])) }
}

const filesIn = (folder: string): string[] =>
  readdirSync(`${checkoutRoot}${folder}`, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => `${entry.parentPath}/${entry.name}`.slice(checkoutRoot.length))

function fingerprint(files: readonly string[]): string {
  const hash = createHash('sha256').update(process.version)
  for (const file of [...files].sort()) hash.update(file).update(readFileSync(checkoutRoot + file))
  return hash.digest('hex')
}

const make = async (...order: string[]): Promise<void> => {
  await promisify(execFile)(process.execPath, [`${checkoutRoot}infra/local/template/make.ts`, ...order])
}

/**
 * Returns the bundles of all functions. The bundles depend on the sources only; `metafiles.json` next to the
 * bundles lists the content of each bundle.
 * @returns the directory of the bundles' folders
 */
export const buildBundlesOfSources = (wanted = sources().code): Promise<string> =>
  updateBuildIfOutdated(`${checkoutRoot}.build/local-functions`, wanted, directory =>
    make('functions', directory),
  )

/** Creates folders without code in place of bundles, because templates do not depend on the code. */
export function makeEmptyBundles(directory: string): void {
  for (const name of readdirSync(`${checkoutRoot}functions`)) {
    mkdirSync(`${directory}/${name}`, { recursive: true })
    writeFileSync(`${directory}/${name}/index.mjs`, `// ${name}\n`)
  }
}

const noBundles = (wanted: string): Promise<string> =>
  updateBuildIfOutdated(`${checkoutRoot}.build/no-functions`, wanted, async directory =>
    makeEmptyBundles(directory),
  )

/**
 * Synthesises the stacks with empty bundles, unless an assembly of the same sources exists.
 * @returns the directory of the assembly
 */
export async function synthesiseTemplates(local: LocalSettings, from = sources()): Promise<string> {
  const settings = JSON.stringify(settingsOf(local))
  const place = `${checkoutRoot}.build/local-${digest(settings).slice(0, 8)}`
  return updateBuildIfOutdated(place, from.templates, async directory =>
    make('templates', directory, await noBundles(from.code), settings),
  )
}

/** Synthesises and bundles at the same time. @returns the directories of the assembly and of the bundles */
export async function synthesiseAndBundle(
  local: LocalSettings,
): Promise<{ assembly: string; bundles: string }> {
  const from = sources()
  const [assembly, bundles] = await Promise.all([
    synthesiseTemplates(local, from),
    buildBundlesOfSources(from.code),
  ])
  return { assembly, bundles }
}
