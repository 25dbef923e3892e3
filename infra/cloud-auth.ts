import type { Environment } from 'aws-cdk-lib'
import { Construct } from 'constructs'
import { bundlesDir, readCdkContext } from './checkout.ts'
import { readSettings, type Settings, type SettingsInput } from './settings.ts'
import { type ClusterStacks, defineStacks } from './stacks/cluster.ts'

/** The settings of a deployment, and its target account and region. @see docs/do/construct.md#props */
export type CloudAuthProps = SettingsInput & {
  /** account and region of the stacks; default: account and region of the deploying credentials */
  env?: Environment
}

/**
 * A cluster inside another CDK app: its three stacks are children of this construct. The templates depend on the
 * props only, not on the app's feature flags.
 * @see docs/do/construct.md
 */
export class CloudAuth extends Construct {
  readonly settings: Settings
  readonly stacks: ClusterStacks

  /**
   * @param bundles directory of the functions' bundles
   * @throws Error that names every fault of the props
   */
  constructor(scope: Construct, id: string, { env, ...given }: CloudAuthProps, bundles: string = bundlesDir) {
    super(scope, id)
    const { settings: _, ...flags } = readCdkContext()
    for (const [flag, value] of Object.entries(flags)) this.node.setContext(flag, value)
    this.settings = readSettings(given)
    this.stacks = defineStacks(this, { settings: this.settings, bundles, ...(env ? { env } : {}) })
  }
}
