import { GetInstanceProfileCommand, GetRoleCommand, GetUserCommand, IAMClient } from '@aws-sdk/client-iam'
import type { AwsTarget, IamPrincipal, PrincipalLookUps } from '../../ports.ts'
import { createSdkCaller, type SdkCallAttempt } from './client.ts'
import type { AwsProvider } from './provider.ts'
import type { AwsCallSettings } from './provider-settings.ts'

const UNKNOWN = ['NoSuchEntity', 'NoSuchEntityException']

function undefinedIfUnknown(error: unknown): undefined {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return undefined
  throw error
}

/**
 * Reads an IAM entity from an answer.
 * @throws Error when the answer contains no entity; for an unknown entity IAM returns an error
 */
function readPrincipal(arn: string | undefined, uniqueId: string | undefined): IamPrincipal {
  if (!arn || !uniqueId) throw new Error('the answer of IAM has no user or role')
  return { arn, uniqueId }
}

/** IAM returns policies URL-encoded. A policy that cannot be decoded stays encoded. */
function decodePolicy(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

/** One attempt to look up an IAM entity. */
type Look<T> = SdkCallAttempt<IAMClient, T>

const lookUpProfile =
  (name: string): Look<IamPrincipal & { roleArns: string[] }> =>
  async (client, options) => {
    const command = new GetInstanceProfileCommand({ InstanceProfileName: name })
    const { InstanceProfile: found } = await client.send(command, options)
    const roleArns = (found?.Roles ?? []).map(({ Arn = '' }) => Arn)
    return { ...readPrincipal(found?.Arn, found?.InstanceProfileId), roleArns }
  }

/** The look-up of each type of IAM entity. */
const lookUps = {
  user:
    (name: string): Look<IamPrincipal> =>
    async (client, options) => {
      const { User } = await client.send(new GetUserCommand({ UserName: name }), options)
      return readPrincipal(User?.Arn, User?.UserId)
    },
  role:
    (name: string): Look<IamPrincipal> =>
    async (client, options) => {
      const { Role } = await client.send(new GetRoleCommand({ RoleName: name }), options)
      const principal = readPrincipal(Role?.Arn, Role?.RoleId)
      const encoded = Role?.AssumeRolePolicyDocument
      return encoded === undefined ? principal : { ...principal, trustPolicy: decodePolicy(encoded) }
    },
  'instance-profile': lookUpProfile,
}

const clientOf = (settings: AwsCallSettings) => createSdkCaller(IAMClient, 'iam', settings)

/** Looks up principals in IAM. */
export function createIamPrincipals(provider: AwsProvider): PrincipalLookUps {
  /** Looks up an IAM entity; undefined when IAM has no entity of that name. */
  const ask = <T>(target: AwsTarget, deadline: number, look: Look<T>): Promise<T | undefined> =>
    provider.call('iam', target, deadline, clientOf, (calls, ms) => calls(look, ms).catch(undefinedIfUnknown))
  return {
    find: async (target, { type, name }, deadline) =>
      type === 'assumed-role' ? undefined : ask<IamPrincipal>(target, deadline, lookUps[type](name)),
    profile: (target, name, deadline) => ask(target, deadline, lookUpProfile(name)),
  }
}
