import type { Environment } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { asAccountWants } from '../constructs/account.ts'
import type { Settings } from '../settings.ts'
import { ApiStack } from './api.ts'
import { DataStack } from './data.ts'
import { WorkersStack } from './workers.ts'

interface ClusterProps {
  settings: Settings
  /** directory with the bundles of the functions */
  bundles: string
  /** account and region; absent: those of whoever deploys */
  env?: Environment
}

/** The stacks of one cluster. */
export interface ClusterStacks {
  data: DataStack
  api: ApiStack
  workers: WorkersStack
}

/** Makes the stacks of one cluster, whose names do not depend on where they are made. */
export function defineStacks(scope: Construct, { settings, bundles, ...place }: ClusterProps): ClusterStacks {
  const name = (part: string) => `cloud-auth-${settings.stage}-${part}`
  const props = (part: string) => ({ ...place, stackName: name(part) })
  const store = new DataStack(scope, name('data'), settings, props('data'))
  const api = new ApiStack(scope, name('api'), { settings, store, bundles, ...props('api') })
  const workers = new WorkersStack(scope, name('workers'), api, props('workers'))
  for (const stack of [store, api, workers]) asAccountWants(stack, settings)
  return { data: store, api, workers }
}
