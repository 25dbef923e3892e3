import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import type { AwsTarget, CallMeter, Clock } from '../../ports.ts'
import { createSdkCaller, type SdkCallAttempt } from './client.ts'
import type { AwsCredentials } from './credentials.ts'
import { rethrowStsError } from './faults.ts'
import { buildStsCallSettings, type CredentialSource } from './provider-settings.ts'

const SESSION = { name: 'cloud-auth', seconds: 900, refreshMs: 60_000 }

type Role = NonNullable<AwsTarget['assume']>

/**
 * Returns a source of temporary credentials of a satellite account's role. The source renews a session a minute
 * before it expires.
 */
export function createSessionSource(
  target: AwsTarget,
  role: Role,
  base: CredentialSource,
  { clock, meter }: { clock: Clock; meter: CallMeter },
): CredentialSource {
  let held: Promise<AwsCredentials> | undefined
  let until = 0
  return async () => {
    if (!held || until - SESSION.refreshMs < clock.now()) {
      held = assume(target, role, base, meter)
      try {
        until = (await held).expiration?.getTime() ?? 0
      } catch (error) {
        held = undefined
        throw error
      }
    }
    return held
  }
}

async function assume(
  target: AwsTarget,
  { role, externalId }: Role,
  base: CredentialSource,
  meter: CallMeter,
): Promise<AwsCredentials> {
  const command = new AssumeRoleCommand({
    RoleArn: role,
    RoleSessionName: SESSION.name,
    DurationSeconds: SESSION.seconds,
    ...(externalId ? { ExternalId: externalId } : {}),
  })
  const { Credentials: made } = await ask(target, base, meter, (client, options) =>
    client.send(command, options),
  )
  if (!made?.AccessKeyId || !made.SecretAccessKey || !made.SessionToken || !made.Expiration)
    return rethrowStsError(new Error('STS returned no credentials'))
  return {
    accessKeyId: made.AccessKeyId,
    secretAccessKey: made.SecretAccessKey,
    sessionToken: made.SessionToken,
    expiration: made.Expiration,
  }
}

/** Returns the account that credentials belong to. */
export async function fetchAccountOf(
  target: AwsTarget,
  base: CredentialSource,
  meter: CallMeter,
): Promise<string> {
  const { Account = '' } = await ask(target, base, meter, (client, options) =>
    client.send(new GetCallerIdentityCommand({}), options),
  )
  return Account
}

function ask<T>(
  target: AwsTarget,
  base: CredentialSource,
  meter: CallMeter,
  attempt: SdkCallAttempt<STSClient, T>,
): Promise<T> {
  meter.count('sts')
  return createSdkCaller(STSClient, 'sts', buildStsCallSettings(target, base))(attempt).catch(rethrowStsError)
}
