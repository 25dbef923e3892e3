import { readFileSync } from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { build, context, type Metafile, type Plugin } from 'esbuild'
import type { EndpointGroup, EndpointUse } from '../../shared/api/endpoint.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { findBrokenBoundRelations } from '../../shared/values/bound-relations.ts'
import { bounds } from '../../shared/values/bounds.ts'
import { bundlesDir, checkoutRoot, listFunctionNames } from '../checkout.ts'
import { insertConsoleForms } from './console-forms.ts'
import { leanSdkPlugin } from './lean-sdk.ts'
import { declaredUsesOfFunction } from './uses.ts'

/**
 * SDK clients, each with the uses that need it. A bundle contains a client only if the function has one of
 * these uses.
 */
const clients: Record<string, readonly EndpointUse[]> = {
  '@aws-sdk/client-ec2': ['instances'],
  '@aws-sdk/client-iam': ['principals', 'access-keys'],
  '@aws-sdk/client-lambda': ['background', 'pull'],
  '@aws-sdk/client-sfn': ['workflow'],
  '@aws-sdk/client-sts': ['instances', 'principals'],
}

// An ESM import of node:http creates a namespace of all its members, including getters that load undici,
// which takes about 20 ms. `process.getBuiltinModule` avoids this cost.
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?(http|https)$/ }, ({ path, kind }) =>
      kind === 'import-statement' || kind === 'dynamic-import'
        ? { path: path.replace('node:', ''), namespace: 'builtin' }
        : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `const m = process.getBuiltinModule('node:${path}')
        export default m; export const { Agent, createServer, request, globalAgent, STATUS_CODES, METHODS } = m`,
      loader: 'js',
    }))
  },
}

// Path help lists all endpoints. This plugin leaves the handlers and libraries of the endpoints out of the
// bundle.
const tableWithoutHandlers: Plugin = {
  name: 'table-without-handlers',
  setup({ onLoad }) {
    onLoad({ filter: /\/shared\/endpoints\/all\.ts$/ }, () => ({
      contents: `export const endpointGroups = ${JSON.stringify(endpointGroups.map(namesOf))}`,
      loader: 'js',
    }))
  },
}

// The OpenAPI document is read from docs/, which bundles do not contain, so it is embedded.
const documentInside: Plugin = {
  name: 'document-inside',
  setup({ onLoad }) {
    onLoad({ filter: /\/shared\/endpoints\/openapi-document\.ts$/ }, () => ({
      contents: `const text = ${JSON.stringify(JSON.stringify(JSON.parse(readFileSync(`${checkoutRoot}docs/openapi.json`, 'utf8'))))}
        export const buildOpenApiDocument = async () => JSON.parse(text)`,
      loader: 'js',
    }))
  },
}

const namesOf = ({ name, endpoints }: EndpointGroup) => ({
  name,
  endpoints: endpoints.map(({ method, path, also, summary }) => ({ method, path, also, summary })),
})

/** The function that is being bundled. The bundler's plugins read this object at each rebuild. */
interface Wanted {
  name: string
  uses: readonly EndpointUse[]
}

const ENTRY = 'the function'

const EAGER = 'what the function loads'

/**
 * Puts everything that a function loads before its first event into one file. Without this file esbuild creates a
 * file for each set of lazy parts that share a module, and loading each file costs a fraction of a millisecond.
 * Every lazy part imports all eager modules, so that these sets are equal.
 */
const eagerInOneFile = (wanted: Wanted): Plugin => ({
  name: 'eager-in-one-file',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /.*/ }, async ({ path, kind, importer, resolveDir, namespace }) => {
      if (path === EAGER) return { path, namespace: 'eager' }
      if (kind !== 'dynamic-import' || namespace !== 'file') return undefined
      const found = await resolve(path, { kind: 'import-statement', importer, resolveDir })
      const isOwn = found.namespace === 'file' && /\/shared\/.*\.ts$/.test(found.path)
      // a relative path, because esbuild names chunks by the paths of their modules
      return isOwn ? { path: found.path.slice(checkoutRoot.length), namespace: 'later' } : found
    })
    onLoad({ filter: /.*/, namespace: 'later' }, ({ path }) => ({
      contents: `import ${JSON.stringify(EAGER)}; export * from ${JSON.stringify(`./${path}`)}`,
      resolveDir: checkoutRoot,
      loader: 'js',
    }))
    onLoad({ filter: /.*/, namespace: 'eager' }, () => {
      const folder = `${checkoutRoot}functions/${wanted.name}`
      const imports = readFileSync(`${folder}/index.ts`, 'utf8').matchAll(/^import .*from ('[^']+')$/gm)
      const contents = [...imports].map(([, module]) => `import ${module}`).join('\n')
      return { contents, resolveDir: folder, loader: 'js' }
    })
  },
})

// Selects the entry point of the function, and leaves out SDK clients that the function does not use.
const functionOf = (wanted: Wanted): Plugin => ({
  name: 'function-of',
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`^${ENTRY}$`) }, () => ({
      path: `${checkoutRoot}functions/${wanted.name}/index.ts`,
    }))
    onResolve({ filter: /^@aws-sdk\/client-[^/]+$/ }, ({ path }) =>
      clients[path]?.some(use => wanted.uses.includes(use)) === false ? { path, external: true } : undefined,
    )
  },
})

/** Bundles functions one after the other, and parses shared modules once. */
interface Bundler {
  bundle(name: string): Promise<Metafile>
  end(): Promise<void>
}

/** Creates a bundler: ESM, minified, SDK included, lazy parts as separate chunks. */
async function newBundler(directory: string): Promise<Bundler> {
  const wanted: Wanted = { name: '', uses: [] }
  const builds = await context({
    entryPoints: { index: ENTRY },
    // esbuild writes nothing to this directory; sibling directories have the same relative path to the
    // sources
    outdir: `${directory}/function`,
    write: false,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    external: unchanged,
    plugins: [
      functionOf(wanted),
      lazyBuiltins,
      leanSdkPlugin,
      eagerInOneFile(wanted),
      tableWithoutHandlers,
      documentInside,
    ],
    legalComments: 'linked',
    // stack traces show our files and lines, but the package contains no sources
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    absWorkingDir: checkoutRoot,
    logLevel: 'warning',
  })
  const bundle = async (name: string): Promise<Metafile> => {
    Object.assign(wanted, { name, uses: declaredUsesOfFunction(name) })
    const { outputFiles, metafile } = await builds.rebuild()
    const folder = `${directory}/${name}`
    await mkdir(folder, { recursive: true })
    const foreign = listForeignFiles(metafile)
    for (const { path, text, contents } of outputFiles) {
      const file = basename(path)
      await writeFile(`${folder}/${file}`, foreign.has(file) ? text.replace(MAP_COMMENT, '') : contents)
    }
    const imported = Object.values(metafile.outputs).flatMap(output => output.imports.map(one => one.path))
    for (const library of unchanged) if (imported.includes(library)) await copyPackage(library, folder)
    return metafile
  }
  return { bundle, end: () => builds.dispose() }
}

const MAP_COMMENT = /^\/\/# sourceMappingURL=.*/m

/**
 * Returns the names of the chunks that contain only libraries. They name no source map, because Node reads the map of
 * every file that names one when the file is loaded.
 */
const listForeignFiles = ({ outputs }: Metafile): ReadonlySet<string> =>
  new Set(
    Object.entries(outputs)
      .filter(([path, { inputs }]) => path.endsWith('.mjs') && Object.keys(inputs).every(isLibrary))
      .map(([path]) => basename(path)),
  )

const isLibrary = (path: string): boolean => path.startsWith('node_modules/')

/** Libraries that must be shipped unmodified, with the licence, because their licence requires it. */
const unchanged = ['openpgp']

async function copyPackage(library: string, target: string): Promise<void> {
  const [from, to] = [`${checkoutRoot}node_modules/${library}`, `${target}/node_modules/${library}`]
  await mkdir(`${to}/dist/node`, { recursive: true })
  for (const file of ['package.json', 'LICENSE', 'dist/node/openpgp.mjs']) {
    await cp(`${from}/${file}`, `${to}/${file}`)
  }
}

const PAGE = `${checkoutRoot}shared/console/page/`

/** Builds the console page next to the function that serves it: one script, a style sheet, and the page with its forms. */
export async function buildConsolePage(folder: string): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: { page: `${PAGE}main.ts` },
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    charset: 'utf8',
    tsconfigRaw: {},
    metafile: true,
    absWorkingDir: checkoutRoot,
    logLevel: 'warning',
  })
  await cp(`${PAGE}style.css`, `${folder}/style.css`)
  const page = readFileSync(`${PAGE}index.html`, 'utf8')
  await writeFile(`${folder}/index.html`, insertConsoleForms(page, endpointGroups))
  return metafile
}

/**
 * Percentage by which esbuild's heap may grow before garbage collection. The build process lives for seconds, and
 * garbage collection would take a third of its time.
 */
const GROWTH = '400'

/**
 * Bundles every function into a directory; `metafiles.json` lists the content of each bundle.
 * @throws Error if bounds contradict each other, because no function, host or synthesis would start with such
 * bounds
 */
export async function buildFunctionBundles(directory = bundlesDir): Promise<void> {
  const broken = findBrokenBoundRelations(bounds)
  if (broken.length > 0) throw new Error(`bounds contradict each other: ${broken.join('; ')}`)
  await rm(directory, { recursive: true, force: true })
  process.env['GOGC'] ??= GROWTH
  const bundler = await newBundler(directory)
  const metafiles: Record<string, Metafile> = {}
  for (const name of listFunctionNames()) metafiles[name] = await bundler.bundle(name)
  await bundler.end()
  metafiles['fallback/ui'] = await buildConsolePage(`${directory}/fallback/ui`)
  await writeFile(`${directory}/metafiles.json`, JSON.stringify(metafiles))
}
