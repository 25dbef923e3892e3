import { readFileSync } from 'node:fs'
import { App, type AppProps } from 'aws-cdk-lib'
import { buildFunctions, bundlesDir } from './build/functions.ts'
import { root } from './checkout.ts'
import { readSettings, type Settings } from './settings.ts'
import { ApiStack } from './stacks/api.ts'
import { DataStack } from './stacks/data.ts'
import { WorkersStack } from './stacks/workers.ts'

/** The stacks of one cluster, with the bundles of its functions from a directory. */
export function defineStacks(app: App, settings: Settings, bundles = bundlesDir): void {
  const name = (part: string) => `cloud-auth-${settings.stage}-${part}`
  const store = new DataStack(app, name('data'), settings)
  const api = new ApiStack(app, name('api'), { settings, store, bundles })
  new WorkersStack(app, name('workers'), api)
}

/** For templates that nobody deploys: the CDK's own rules take several times as long as the rest of a synthesis. */
export const unvalidated = { builtinCloudFormationValidation: false }

/** An app with the context of cdk.json; what the CDK's command line adds to it wins. */
export function newApp(outdir: string, more: AppProps = {}): App {
  const { context } = JSON.parse(readFileSync(`${root}cdk.json`, 'utf8')) as {
    context: Record<string, unknown>
  }
  return new App({ context, outdir, ...more })
}

if (import.meta.main) {
  await buildFunctions()
  const app = newApp(process.env['CDK_OUTDIR'] ?? `${root}.build/cdk.out`)
  defineStacks(app, readSettings(app.node.tryGetContext('settings')))
  app.synth()
}
