import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { build, type Metafile, type Plugin } from 'esbuild'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { buildPrograms, shippedPrograms } from '../build/command.ts'
import { checkoutRoot, readCdkContext } from '../checkout.ts'
import { renderDeclaration } from './declaration.ts'
import { oldestNode, peerPackageNames } from './requirements.ts'

/** Default directory of the package. */
const packageDir = `${checkoutRoot}.build/package`

/** The members of the checkout's package.json that the package takes over. */
interface Manifest {
  name: string
  version: string
  description: string
  keywords: string[]
  homepage: string
  bugs: object
  repository: object
  license: string
  devDependencies: Record<string, string>
}

// Templates need the routes and uses of endpoints, but no handlers.
const tableWithoutHandlers: Plugin = {
  name: 'table-without-handlers',
  setup({ onLoad }) {
    // handlers are functions and so not JSON, and templates do not need handlers
    const rows = endpointGroups.map(({ endpoints, ...group }) => ({
      ...group,
      endpoints: endpoints.map(({ fields: _, ...row }) => row),
    }))
    onLoad({ filter: /\/shared\/endpoints\/all\.ts$/ }, () => ({
      contents: `export const endpointGroups = ${JSON.stringify(rows)}`,
      loader: 'js',
    }))
  },
}

const bundled = {
  bundle: true,
  platform: 'node',
  target: `node${oldestNode.construct}`,
  legalComments: 'linked',
  metafile: true,
  absWorkingDir: checkoutRoot,
  logLevel: 'warning',
} as const

/** Creates the package's manifest. */
function manifestOf({ devDependencies, ...own }: Manifest): object {
  const { name, version, description, keywords, homepage, bugs, repository, license } = own
  return {
    name,
    version,
    description,
    keywords,
    homepage,
    bugs,
    repository,
    license,
    type: 'module',
    // the oldest Node of the command; the construct checks for its own
    engines: { node: `>=${oldestNode.command}` },
    exports: {
      '.': { types: './lib/index.d.ts', import: './lib/index.js' },
      './package.json': './package.json',
    },
    bin: Object.fromEntries(
      Object.entries(shippedPrograms).map(([name, { file }]) => [name, `./bin/${file}`]),
    ),
    files: ['lib', 'bin', 'functions', 'cdk.json'],
    peerDependencies: Object.fromEntries(peerPackageNames.map(one => [one, `^${devDependencies[one]}`])),
    peerDependenciesMeta: Object.fromEntries(peerPackageNames.map(one => [one, { optional: true }])),
  }
}

/** Copies the functions' bundles without source maps, which are larger than the code. */
function copyBundles(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    filter: path => !/\/(metafiles\.json|fingerprint)$|\.map$/.test(path),
  })
  for (const name of readdirSync(to, { recursive: true, encoding: 'utf8' })) {
    const file = `${to}/${name}`
    if (!file.endsWith('.mjs') || file.includes('/node_modules/')) continue
    writeFileSync(file, readFileSync(file, 'utf8').replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'))
  }
}

/**
 * Builds the construct as a CommonJS module, which `index.js` loads only if the peers are there, and `index.js`.
 * @param directory output directory
 */
async function buildConstruct(directory: string): Promise<Metafile[]> {
  const construct = await build({
    ...bundled,
    entryPoints: { construct: `${checkoutRoot}infra/package/construct.ts` },
    outdir: directory,
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    define: { 'import.meta.url': 'moduleUrl' },
    banner: { js: "const moduleUrl = require('node:url').pathToFileURL(__filename).href" },
    external: peerPackageNames.flatMap(one => [one, `${one}/*`]),
    plugins: [tableWithoutHandlers],
  })
  const index = await build({
    ...bundled,
    entryPoints: { index: `${checkoutRoot}infra/package/index.ts` },
    outdir: directory,
    format: 'esm',
  })
  return [construct.metafile, index.metafile]
}

/**
 * Writes the package: the construct as JavaScript, its types, the functions' bundles, commands, and a package.json.
 * @param bundles directory of the bundles, which are copied
 * @returns esbuild's metafiles of everything but the functions
 */
export async function buildPackage(bundles: string, directory = packageDir): Promise<Metafile[]> {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(`${directory}/lib`, { recursive: true })
  const own = JSON.parse(readFileSync(`${checkoutRoot}package.json`, 'utf8')) as Manifest
  const { settings: _, ...context } = readCdkContext()
  const write = (file: string, content: object) =>
    writeFileSync(`${directory}/${file}`, `${JSON.stringify(content, null, 2)}\n`)
  write('package.json', manifestOf(own))
  write('cdk.json', { context })
  writeFileSync(`${directory}/lib/index.d.ts`, renderDeclaration())
  cpSync(`${checkoutRoot}LICENSE`, `${directory}/LICENSE`)
  cpSync(`${checkoutRoot}infra/package/README.md`, `${directory}/README.md`)
  copyBundles(bundles, `${directory}/functions`)
  return [...(await buildConstruct(`${directory}/lib`)), ...(await buildPrograms(`${directory}/bin`))]
}
