import type { App } from 'aws-cdk-lib'
import { bundlesDir } from '../checkout.ts'
import { CloudAuth } from '../cloud-auth.ts'
import type { SettingsInput } from '../settings.ts'
import type { PairPlan } from './settings.ts'

/**
 * Creates the stacks of both clusters, each cluster in its own account and region. The stacks of a cluster
 * are below its name.
 */
export function definePairStacks(app: App, pair: PairPlan, bundles = bundlesDir): void {
  for (const { name, account, region, rawSettings } of pair)
    new CloudAuth(app, name, { ...(rawSettings as SettingsInput), env: { account, region } }, bundles)
}
