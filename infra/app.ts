import { App, type AppProps } from 'aws-cdk-lib'
import { buildFunctions } from './build/functions.ts'
import { bundlesDir, readContext, root } from './checkout.ts'
import { readSettings } from './settings.ts'
import { defineStacks } from './stacks/cluster.ts'

/** For templates that nobody deploys: the CDK's own rules take several times as long as the rest of a synthesis. */
export const unvalidated = { builtinCloudFormationValidation: false }

/** An app with the context of cdk.json; what the CDK's command line adds to it wins. */
export const newApp = (outdir: string, more: AppProps = {}): App =>
  new App({ context: readContext(), outdir, ...more })

if (import.meta.main) {
  await buildFunctions()
  const app = newApp(process.env['CDK_OUTDIR'] ?? `${root}.build/cdk.out`)
  defineStacks(app, { settings: readSettings(app.node.tryGetContext('settings')), bundles: bundlesDir })
  app.synth()
}
