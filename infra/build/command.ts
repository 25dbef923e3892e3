import { chmod } from 'node:fs/promises'
import { build } from 'esbuild'
import { root, version } from '../checkout.ts'

/** Programs that the project ships, by the names that they are called by: where each begins, and the file that is made of it. */
export const programs = {
  'cloud-auth': { entry: 'infra/command/main.ts', file: 'cloud-auth.mjs' },
} as const

/**
 * Makes each program one file, which runs on Node 20 or later and needs nothing beside it.
 * @param directory where they go
 */
export async function buildPrograms(directory = `${root}.build`): Promise<void> {
  for (const { entry, file } of Object.values(programs)) {
    const outfile = `${directory}/${file}`
    await build({
      entryPoints: [`${root}${entry}`],
      outfile,
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      mainFields: ['module', 'main'],
      // some packages inside still call require
      banner: {
        js: `#!/usr/bin/env node\n// cloud-auth ${version}\nimport{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);`,
      },
      legalComments: 'inline',
      absWorkingDir: root,
      logLevel: 'warning',
    })
    await chmod(outfile, 0o755)
  }
}
