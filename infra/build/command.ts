import { chmod } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { build, type Metafile, type Plugin } from 'esbuild'
import { checkoutRoot, version } from '../checkout.ts'
import { oldestNode } from '../package/requirements.ts'

/** Programs that the project ships by name: entry file and output file. */
export const shippedPrograms = {
  'cloud-auth': { entry: 'infra/command/main.ts', file: 'cloud-auth.mjs' },
} as const

// Node links static imports before it runs any line of the program. On an older version an import of a
// missing name would fail with a SyntaxError before the version check, so built-in modules are required after the check.
const requiredBuiltins: Plugin = {
  name: 'required-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[\w:/]+$/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return undefined
      return kind === 'import-statement' ? { path, namespace: 'builtin' } : { path, external: true }
    })
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}

/** Returns the first lines of a program: a check of Node's version in syntax that older versions can parse. */
const begin = (name: string): string =>
  `#!/usr/bin/env node
// ${name} ${version}
import{createRequire as __cr}from'module';if(parseInt(process.versions.node,10)<${oldestNode.command}){process.stderr.write('${name} needs Node ${oldestNode.command} or later, and this is Node '+process.versions.node+': install a later Node from https://nodejs.org, or put it first in PATH\\n');process.exit(1)}const require=__cr(import.meta.url);`

/**
 * Bundles each program into one file without dependencies.
 * @param directory output directory
 * @returns esbuild's metafile of each program
 */
export async function buildPrograms(directory = `${checkoutRoot}.build`): Promise<Metafile[]> {
  const metafiles: Metafile[] = []
  for (const [name, { entry, file }] of Object.entries(shippedPrograms)) {
    const outfile = `${directory}/${file}`
    const { metafile } = await build({
      entryPoints: [`${checkoutRoot}${entry}`],
      outfile,
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'node',
      // the oldest syntax with top-level `await`: an old Node version parses the file and prints the version error
      target: 'node14.8',
      mainFields: ['module', 'main'],
      define: { BUILT_VERSION: JSON.stringify(version) },
      banner: { js: begin(name) },
      plugins: [requiredBuiltins],
      legalComments: 'inline',
      metafile: true,
      absWorkingDir: checkoutRoot,
      logLevel: 'warning',
    })
    await chmod(outfile, 0o755)
    metafiles.push(metafile)
  }
  return metafiles
}
