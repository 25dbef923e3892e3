import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { build, type Plugin } from 'esbuild'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { buildPrograms, shippedPrograms } from '../build/command.ts'
import { checkoutRoot, readCdkContext } from '../checkout.ts'
import { renderDeclaration } from './declaration.ts'
import { peerPackageNames } from './parts.ts'

/** Default directory of the package. */
const packageDir = `${checkoutRoot}.build/package`

interface Manifest {
  name: string
  version: string
  description: string
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

const bundled = { bundle: true, format: 'esm', platform: 'node', target: 'node22' } as const

/** Creates the package's manifest. */
function manifestOf(own: Manifest): object {
  const { name, version, description, license, devDependencies } = own
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines: { node: '>=22' },
    exports: {
      '.': { types: './lib/index.d.ts', import: './lib/index.js' },
      './package.json': './package.json',
    },
    bin: Object.fromEntries(
      Object.entries(shippedPrograms).map(([name, { file }]) => [name, `./bin/${file}`]),
    ),
    files: ['lib', 'bin', 'functions', 'cdk.json'],
    peerDependencies: Object.fromEntries(peerPackageNames.map(one => [one, `^${devDependencies[one]}`])),
  }
}

/**
 * Writes the package: the construct as JavaScript, its types, the functions' bundles, commands, and a package.json.
 * @param bundles directory of the bundles, which are copied
 */
export async function buildPackage(bundles: string, directory = packageDir): Promise<void> {
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
  cpSync(bundles, `${directory}/functions`, {
    recursive: true,
    filter: from => !/\/(metafiles\.json|fingerprint)$/.test(from),
  })
  await build({
    ...bundled,
    entryPoints: { index: `${checkoutRoot}infra/package/index.ts` },
    outdir: `${directory}/lib`,
    external: peerPackageNames.flatMap(one => [one, `${one}/*`]),
    plugins: [tableWithoutHandlers],
    legalComments: 'linked',
    absWorkingDir: checkoutRoot,
    logLevel: 'warning',
  })
  await buildPrograms(`${directory}/bin`)
}
