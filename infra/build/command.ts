import { chmod } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { build, type Plugin } from 'esbuild'
import { root, version } from '../checkout.ts'

/** Programs that the project ships, by the names that they are called by: where each begins, and the file that is made of it. */
export const programs = {
  'cloud-auth': { entry: 'infra/command/main.ts', file: 'cloud-auth.mjs' },
} as const

/** The oldest Node that runs the programs. */
const OLDEST_NODE = 20

// Node links static imports before any line runs, and on an older one names are missing from its modules: it would end with
// a SyntaxError before the check of its version. So its modules are required, behind that check.
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

/** What a program begins with: the check of Node's version, in words that older Nodes can parse. */
const begin = (name: string): string =>
  `#!/usr/bin/env node
// ${name} ${version}
import{createRequire as __cr}from'module';if(parseInt(process.versions.node,10)<${OLDEST_NODE}){process.stderr.write('${name} needs Node ${OLDEST_NODE} or later, and this is Node '+process.versions.node+': install one from https://nodejs.org, or put it first in PATH\\n');process.exit(1)}const require=__cr(import.meta.url);`

/**
 * Makes each program one file, which runs on Node 20 or later and needs nothing beside it.
 * @param directory where they go
 */
export async function buildPrograms(directory = `${root}.build`): Promise<void> {
  for (const [name, { entry, file }] of Object.entries(programs)) {
    const outfile = `${directory}/${file}`
    await build({
      entryPoints: [`${root}${entry}`],
      outfile,
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'node',
      // the oldest that has `await` outside functions: such a Node parses the file, and then says what it lacks
      target: 'node14.8',
      mainFields: ['module', 'main'],
      banner: { js: begin(name) },
      plugins: [requiredBuiltins],
      legalComments: 'inline',
      absWorkingDir: root,
      logLevel: 'warning',
    })
    await chmod(outfile, 0o755)
  }
}
