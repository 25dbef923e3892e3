import type { AwsTarget, Clock, Meter } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import type { Credentials } from './credentials.ts'
import { throwStsFault } from './faults.ts'
import { type CredentialSource, stsSettings } from './provider-settings.ts'

const SESSION = { name: 'cloud-auth', seconds: 900, refreshMs: 60_000 }

type Role = NonNullable<AwsTarget['assume']>

/** Temporary credentials of a satellite account's role, renewed a minute before they end. */
export function sessionOf(
  target: AwsTarget,
  role: Role,
  base: CredentialSource,
  { clock, meter }: { clock: Clock; meter: Meter },
): CredentialSource {
  let held: Promise<Credentials> | undefined
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
  role: Role,
  base: CredentialSource,
  meter: Meter,
): Promise<Credentials> {
  const { STSClient, AssumeRoleCommand } = await import('@aws-sdk/client-sts')
  const sts = new STSClient(stsSettings(target, base))
  meter.count('sts')
  const { Credentials: made } = await sts
    .send(
      new AssumeRoleCommand(
        defined({
          RoleArn: role.role,
          RoleSessionName: SESSION.name,
          DurationSeconds: SESSION.seconds,
          ExternalId: role.externalId || undefined,
        }),
      ),
    )
    .catch(throwStsFault)
  if (!made?.AccessKeyId || !made.SecretAccessKey || !made.SessionToken)
    throw new Error('STS gave no credentials')
  return defined({
    accessKeyId: made.AccessKeyId,
    secretAccessKey: made.SecretAccessKey,
    sessionToken: made.SessionToken,
    expiration: made.Expiration,
  })
}

/** The account that credentials belong to. */
export async function accountOf(target: AwsTarget, base: CredentialSource, meter: Meter): Promise<string> {
  const { STSClient, GetCallerIdentityCommand } = await import('@aws-sdk/client-sts')
  const sts = new STSClient(stsSettings(target, base))
  meter.count('sts')
  return (await sts.send(new GetCallerIdentityCommand({})).catch(throwStsFault)).Account ?? ''
}
