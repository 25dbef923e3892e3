import { App, type AppProps } from 'aws-cdk-lib'
import { buildFunctionBundles } from './build/functions.ts'
import { bundlesDir, checkoutRoot, readCdkContext } from './checkout.ts'
import { readSettings } from './settings.ts'
import { SettingsError } from './settings-fault.ts'
import { defineStacks } from './stacks/cluster.ts'

/**
 * Props for templates that nobody deploys. With these props the CDK skips its own validation, which takes
 * several times as long as the rest of a synthesis.
 */
export const unvalidatedAppProps = { builtinCloudFormationValidation: false }

/** Creates an app with the context of cdk.json. Values from the CDK's command line take precedence. */
export const createCdkApp = (outdir: string, more: AppProps = {}): App =>
  new App({ context: readCdkContext(), outdir, ...more })

/** Directory of the templates when the CDK's command line did not start the program. */
const OUT = '.build/cdk.out'

async function synthesise(): Promise<void> {
  const given = process.env['CDK_OUTDIR']
  const app = createCdkApp(given ?? `${checkoutRoot}${OUT}`)
  const settings = readSettings(app.node.tryGetContext('settings'))
  await buildFunctionBundles()
  defineStacks(app, { settings, bundles: bundlesDir })
  const { stacks } = app.synth()
  if (given === undefined)
    process.stdout.write(
      `Wrote ${stacks.length} templates to ${OUT}. Deploy them with: npx cdk deploy --app ${OUT} --all\n`,
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
