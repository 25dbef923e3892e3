// Bundles or synthesises in a separate process, because the CDK and the bundler would keep memory in a
// serving host. The arguments `functions <directory>` bundle; the arguments `templates <directory> <bundles>
// <settings>` synthesise.
import { createCdkApp, unvalidatedAppProps } from '../../app.ts'
import { buildFunctionBundles } from '../../build/functions.ts'
import { readSettings } from '../../settings.ts'
import { defineStacks } from '../../stacks/cluster.ts'

const [what, directory = '', bundles = '', settings = '{}'] = process.argv.slice(2)

if (what === 'functions') await buildFunctionBundles(directory)
else {
  const app = createCdkApp(directory, unvalidatedAppProps)
  const given = JSON.parse(settings) as Record<string, unknown>
  defineStacks(app, { settings: readSettings(given), bundles })
  app.synth()
}
