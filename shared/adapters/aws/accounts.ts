import type { AccessKeys, Instances, Principals } from '../../ports.ts'
import { ec2Instances } from './instances.ts'
import { type ProviderDependencies, provider } from './provider.ts'

/** The calls to AWS accounts on behalf of mounts. */
export interface Accounts {
  instances: Instances
  /** loads IAM's client */
  principals(): Promise<Principals>
  accessKeys(): Promise<AccessKeys>
}

export function accounts(dependencies: ProviderDependencies): Accounts {
  const calls = provider(dependencies)
  const { environment, clock, meter } = dependencies
  return {
    instances: ec2Instances(calls, { clock, meter }),
    principals: async () => {
      const { iamPrincipals } = await import('./principals.ts')
      return iamPrincipals(calls)
    },
    accessKeys: async () => {
      const { iamAccessKeys } = await import('./access-keys.ts')
      return iamAccessKeys({ provider: calls, region: environment.region, clock, meter })
    },
  }
}
