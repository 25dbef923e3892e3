import type { AccessKeys, Instances, Principals } from '../../ports.ts'
import { iamAccessKeys } from './access-keys.ts'
import { ec2Instances } from './instances.ts'
import { iamPrincipals } from './principals.ts'
import { type ProviderDependencies, provider } from './provider.ts'

/** What is asked and done in accounts, on behalf of mounts. */
export interface Accounts {
  instances: Instances
  principals: Principals
  accessKeys: AccessKeys
}

export function accounts(dependencies: ProviderDependencies): Accounts {
  const calls = provider(dependencies)
  const { environment, clock, meter } = dependencies
  return {
    instances: ec2Instances(calls, { clock, meter }),
    principals: iamPrincipals(calls),
    accessKeys: iamAccessKeys({ provider: calls, region: environment.region, clock, meter }),
  }
}
