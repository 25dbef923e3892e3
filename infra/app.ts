import { App, type AppProps } from 'aws-cdk-lib'
import { buildFunctions } from './build/functions.ts'
import { bundlesDir, readContext, root } from './checkout.ts'
import { readSettings } from './settings.ts'
import { SettingsError } from './settings-fault.ts'
import { defineStacks } from './stacks/cluster.ts'

/** For templates that nobody deploys: the CDK's own rules take several times as long as the rest of a synthesis. */
export const unvalidated = { builtinCloudFormationValidation: false }

/** An app with the context of cdk.json; what the CDK's command line adds to it wins. */
export const createApp = (outdir: string, more: AppProps = {}): App =>
  new App({ context: readContext(), outdir, ...more })

/** Where the templates go, unless the CDK's command line says so: it has a text of its own then. */
const OUT = '.build/cdk.out'

async function synthesise(): Promise<void> {
  const given = process.env['CDK_OUTDIR']
  const app = createApp(given ?? `${root}${OUT}`)
  const settings = readSettings(app.node.tryGetContext('settings'))
  await buildFunctions()
  defineStacks(app, { settings, bundles: bundlesDir })
  const { stacks } = app.synth()
  if (given === undefined)
    process.stdout.write(
      `Made ${stacks.length} templates in ${OUT}. Deploy them: npx cdk deploy --app ${OUT} --all\n`,
    )
}

if (import.meta.main) {
  try {
    await synthesise()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
