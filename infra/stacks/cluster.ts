import { Annotations, type Environment } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { applyAccountSettings } from '../constructs/account.ts'
import type { Settings } from '../settings.ts'
import { ApiStack } from './api.ts'
import { DataStack } from './data.ts'
import { WorkersStack } from './workers.ts'

interface ClusterProps {
  settings: Settings
  /** directory with the bundles of the functions */
  bundles: string
  /** account and region; default: account and region of the deploying credentials */
  env?: Environment
}

/** The three stacks of one cluster. */
export interface ClusterStacks {
  data: DataStack
  api: ApiStack
  workers: WorkersStack
}

/** Warns the user when the functions may assume roles in any account. */
function warnOfAnyAccount(stack: ApiStack, { assumableRoleArns }: Settings): void {
  const wide = assumableRoleArns.filter(arn => !/^\d{12}$/.test(arn.split(':')[4] ?? ''))
  if (wide.length > 0)
    Annotations.of(stack).addWarningV2(
      'cloud-auth:assumableRoleArns',
      `assumableRoleArns names roles of any account: ${wide.join(', ')}. A token that may write config/sts can make the functions assume such a role in any account that trusts them. Name the accounts, for example arn:aws:iam::111122223333:role/cloud-auth-*`,
    )
}

/** Creates the stacks of one cluster. Stack names depend on the stage only, not on the scope. */
export function defineStacks(scope: Construct, { settings, bundles, ...place }: ClusterProps): ClusterStacks {
  const name = (part: string) => `cloud-auth-${settings.stage}-${part}`
  const props = (part: string) => ({ ...place, stackName: name(part) })
  const store = new DataStack(scope, name('data'), settings, props('data'))
  const api = new ApiStack(scope, name('api'), { settings, store, bundles, ...props('api') })
  const workers = new WorkersStack(scope, name('workers'), api, props('workers'))
  for (const stack of [store, api, workers]) applyAccountSettings(stack, settings)
  warnOfAnyAccount(api, settings)
  return { data: store, api, workers }
}
