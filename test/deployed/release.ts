import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { checkoutRoot } from '../../infra/checkout.ts'
import { packTarball } from '../../infra/release/archives.ts'
import { createTemplatesApp, readTemplateEntries, TEMPLATES_STAGE } from '../../infra/release/templates.ts'
import { type AdaptableTemplate, adaptTemplate } from './adaptations.ts'

const FOLDER = `${checkoutRoot}.build/deployed/`

/** Names of the release's stacks, in the order of their creation. */
export const releasedParts = ['data', 'api', 'workers'] as const
type ReleasedPart = (typeof releasedParts)[number]

export const releasedStackName = (part: string): string => `cloud-auth-${TEMPLATES_STAGE}-${part}`

interface ReleasedTemplate extends AdaptableTemplate {
  Parameters: object
}

/** An unpacked archive of templates, whose templates are adapted. */
export interface UnpackedRelease {
  folder: string
  /** the templates in the archive */
  released: Record<ReleasedPart, ReleasedTemplate>
  /** the templates in the folder */
  tested: Record<ReleasedPart, ReleasedTemplate>
}

/**
 * Packs the templates and the code of their functions, unpacks the archive, and adapts the templates.
 * @param name of the folder below .build/deployed
 * @param bundles directory of the functions' bundles
 */
export function unpackRelease(name: string, bundles: string): UnpackedRelease {
  const place = `${FOLDER}${name}`
  rmSync(place, { recursive: true, force: true })
  const readme = { name: 'README.md', bytes: readFileSync(`${checkoutRoot}infra/release/README.md`) }
  const entries = readTemplateEntries(createTemplatesApp(bundles, `${place}/assembly`).synth())
  execFileSync('tar', ['-xz', '-C', place], { input: packTarball('templates', [...entries, readme]) })
  const folder = `${place}/templates`
  const fileOf = (part: ReleasedPart) => `${folder}/${part}.template.json`
  const read = () =>
    Object.fromEntries(
      releasedParts.map(part => [part, JSON.parse(readFileSync(fileOf(part), 'utf8'))]),
    ) as UnpackedRelease['released']
  const released = read()
  for (const part of releasedParts) writeFileSync(fileOf(part), JSON.stringify(adaptTemplate(released[part])))
  return { folder, released, tested: read() }
}

/** Copies bundles, and changes the code of every function. @returns the directory of the copy */
export function changeBundles(bundles: string): string {
  const changed = `${FOLDER}changed-functions`
  rmSync(changed, { recursive: true, force: true })
  mkdirSync(changed, { recursive: true })
  cpSync(bundles, changed, { recursive: true })
  for (const one of readdirSync(changed, { withFileTypes: true }))
    if (one.isDirectory()) appendFileSync(`${changed}/${one.name}/index.mjs`, '// another release\n')
  return changed
}
