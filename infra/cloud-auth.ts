import type { Environment } from 'aws-cdk-lib'
import { Construct } from 'constructs'
import { bundlesDir, readContext } from './checkout.ts'
import { readSettings, type Settings, type SettingsInput } from './settings.ts'
import { type ClusterStacks, defineStacks } from './stacks/cluster.ts'

/** The settings of a deployment, and where it goes. @see docs/do/construct.md#props */
export type CloudAuthProps = SettingsInput & {
  /** account and region of the stacks; default: those of whoever deploys */
  env?: Environment
}

/**
 * A cluster in another app: its three stacks, below the construct. Their templates follow from the props alone, whatever
 * feature flags the app has.
 * @see docs/do/construct.md
 */
export class CloudAuth extends Construct {
  readonly settings: Settings
  readonly stacks: ClusterStacks

  /** @param bundles directory with the bundles of the functions @throws Error naming every fault of the props */
  constructor(scope: Construct, id: string, { env, ...given }: CloudAuthProps, bundles: string = bundlesDir) {
    super(scope, id)
    const { settings: _, ...flags } = readContext()
    for (const [flag, value] of Object.entries(flags)) this.node.setContext(flag, value)
    this.settings = readSettings(given)
    this.stacks = defineStacks(this, { settings: this.settings, bundles, ...(env ? { env } : {}) })
  }
}
