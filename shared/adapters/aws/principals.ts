import type { IAMClient } from '@aws-sdk/client-iam'
import type { AwsTarget, Principal, Principals } from '../../ports.ts'
import type { Provider } from './provider.ts'

type Sdk = typeof import('@aws-sdk/client-iam')

const UNKNOWN = ['NoSuchEntity', 'NoSuchEntityException']

function absent(error: unknown): undefined {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return undefined
  throw error
}

/** @throws Error when the answer holds no entity: for one that does not exist, IAM answers with an error */
function principal(arn: string | undefined, uniqueId: string | undefined): Principal {
  if (!arn || !uniqueId) throw new Error('IAM answered without an entity')
  return { arn, uniqueId }
}

/** How each type of entity is looked up. */
const lookups = {
  user: async (sdk: Sdk, client: IAMClient, name: string, options: object) => {
    const found = await client.send(new sdk.GetUserCommand({ UserName: name }), options)
    return principal(found.User?.Arn, found.User?.UserId)
  },
  role: async (sdk: Sdk, client: IAMClient, name: string, options: object) => {
    const found = await client.send(new sdk.GetRoleCommand({ RoleName: name }), options)
    return principal(found.Role?.Arn, found.Role?.RoleId)
  },
  'instance-profile': async (sdk: Sdk, client: IAMClient, name: string, options: object) => {
    const found = await client.send(new sdk.GetInstanceProfileCommand({ InstanceProfileName: name }), options)
    return principal(found.InstanceProfile?.Arn, found.InstanceProfile?.InstanceProfileId)
  },
} as const

/** IAM behind the SDK, which is loaded when it is first needed. */
export function iamPrincipals(provider: Provider): Principals {
  let loaded: Promise<Sdk> | undefined
  async function ask<T>(
    target: AwsTarget,
    deadline: number,
    send: (sdk: Sdk, client: IAMClient, options: object) => Promise<T>,
  ): Promise<T | undefined> {
    loaded ??= import('@aws-sdk/client-iam')
    const sdk = await loaded
    return provider.call(
      'iam',
      target,
      deadline,
      settings => new sdk.IAMClient(settings),
      (client: IAMClient, options) => send(sdk, client, options).catch(absent),
    )
  }
  return {
    find: async (target, { type, name }, deadline) =>
      type === 'assumed-role'
        ? undefined
        : ask(target, deadline, (sdk, client, options) => lookups[type](sdk, client, name, options)),
    profile: (target, name, deadline) =>
      ask(target, deadline, async (sdk, client, options) => {
        const command = new sdk.GetInstanceProfileCommand({ InstanceProfileName: name })
        const { InstanceProfile: profile } = await client.send(command, options)
        const roleArns = (profile?.Roles ?? []).map(role => role.Arn ?? '')
        return { ...principal(profile?.Arn, profile?.InstanceProfileId), roleArns }
      }),
  }
}
