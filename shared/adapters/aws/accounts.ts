import type { OrganizationReader } from '../../model/organization.ts'
import type { AccessKeyManager, AwsTarget, InstanceLookUps, PrincipalLookUps } from '../../ports.ts'
import { createEc2Instances } from './instances.ts'
import { type AwsProviderDependencies, createAwsProvider } from './provider.ts'

/** The calls to AWS accounts on behalf of mounts. */
export interface AwsAccountPorts {
  instances: InstanceLookUps
  /** loads IAM's client */
  principals(): Promise<PrincipalLookUps>
  accessKeys(): Promise<AccessKeyManager>
  organizations(): Promise<OrganizationReader<AwsTarget>>
}

export function createAwsAccountPorts(dependencies: AwsProviderDependencies): AwsAccountPorts {
  const calls = createAwsProvider(dependencies)
  const { environment, clock, meter } = dependencies
  return {
    instances: createEc2Instances(calls, { clock, meter }),
    principals: async () => {
      const { createIamPrincipals } = await import('./principals.ts')
      return createIamPrincipals(calls)
    },
    organizations: async () => {
      const { createOrganizationReader } = await import('./organizations.ts')
      return createOrganizationReader(calls)
    },
    accessKeys: async () => {
      const { createIamAccessKeys } = await import('./access-keys.ts')
      return createIamAccessKeys({ provider: calls, region: environment.region, clock, meter })
    },
  }
}
