import type { AwsTarget, Clock, Meter } from '../../ports.ts'
import type { XmlElement } from '../../values/xml.ts'
import type { Credentials } from './credentials.ts'
import { throwStsFault } from './faults.ts'
import { type CredentialSource, stsSettings } from './provider-settings.ts'
import { elementAt, queryCalls, textAt } from './wire/query.ts'

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
  { role, externalId }: Role,
  base: CredentialSource,
  meter: Meter,
): Promise<Credentials> {
  const sts = queryCalls('sts', stsSettings(target, base))
  meter.count('sts')
  return sts('AssumeRole', [
    ['RoleArn', role],
    ['RoleSessionName', SESSION.name],
    ['DurationSeconds', String(SESSION.seconds)],
    ...(externalId ? [['ExternalId', externalId] as const] : []),
  ])
    .then(credentialsIn)
    .catch(throwStsFault)
}

/** @throws Error when there are none */
function credentialsIn(found: XmlElement): Credentials {
  const made = elementAt(found, 'Credentials') ?? found
  const names = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration']
  const [accessKeyId, secretAccessKey, sessionToken, ends] = names.map(name => textAt(made, name))
  const expiration = timeIn(ends)
  if (!accessKeyId || !secretAccessKey || !sessionToken || !expiration)
    throw new Error('STS gave no credentials')
  return { accessKeyId, secretAccessKey, sessionToken, expiration }
}

const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/

/** A time as AWS writes it; undefined for another text, and for a day that there is not. */
function timeIn(text = ''): Date | undefined {
  const [, day] = TIME.exec(text) ?? []
  const time = new Date(text)
  return day !== undefined && !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day)
    ? time
    : undefined
}

/** The account that credentials belong to. */
export async function accountOf(target: AwsTarget, base: CredentialSource, meter: Meter): Promise<string> {
  const sts = queryCalls('sts', stsSettings(target, base))
  meter.count('sts')
  return sts('GetCallerIdentity', [])
    .then(found => textAt(found, 'Account') ?? '')
    .catch(throwStsFault)
}
