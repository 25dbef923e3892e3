import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  noContentAnswer,
} from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { boolField, textField, unsupportedField } from '../../api/fields.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { AwsClientConfig } from '../../model/config.ts'
import { replaceItem } from '../../storage/changes.ts'
import { isLocalAddress } from '../../values/member-address.ts'
import { clientSettingFields } from './client-setting-fields.ts'
import { clientSettingsAnswer, defaultClientSettings, mergeClientSettings } from './client-settings.ts'

const federation = 'Not supported: calls to AWS use keys or the credentials of the environment'
const rotation = 'Not supported: keys are rotated by config/rotate-root'

export const clientConfigFields = {
  ...clientSettingFields,
  secret_key: textField('Secret access key', { secret: true }),
  role_arn: unsupportedField(federation),
  identity_token_audience: unsupportedField(federation),
  identity_token_key: unsupportedField(federation),
  identity_token_ttl: unsupportedField(federation),
  rotation_period: unsupportedField(rotation),
  rotation_policy: unsupportedField(rotation),
  rotation_schedule: unsupportedField(rotation),
  rotation_window: unsupportedField(rotation),
  disable_automated_rotation: boolField('Accepted without effect: only config/rotate-root rotates keys'),
}

/**
 * Handles POST config/client. Fields that the request leaves out keep their values.
 * @see docs/spec/configuration.md#client
 */
export async function writeClientConfig(call: Call<typeof clientConfigFields>): Promise<CallOutcome> {
  const stored = subjectOf(call, 'client-config')
  const before: AwsClientConfig = stored?.data ?? defaultClientSettings
  const { plainEndpoints } = call.ports.deployment
  const next: AwsClientConfig = { ...before, ...mergeClientSettings(before, call.parameters, plainEndpoints) }
  if (!plainEndpoints) forbidNearEndpoints(next)
  const place = subjectKeyOf(call, 'client-config')
  const { secret_key: secret, access_key: accessKey } = call.parameters
  if (secret !== undefined || accessKey !== undefined) {
    // credentials set by an administrator end an unfinished rotation: the rotation's old key is no longer a
    // fallback
    delete next.previousAccessKey
    delete next.previousSecretKey
  }
  if (secret === '') delete next.secretKey
  else if (secret !== undefined) next.secretKey = await call.ports.cipher.encrypt(place, 'secretKey', secret)
  return answerAfterChanges([replaceItem(place, stored, next)], noContentAnswer(warningsOf(next)))
}

/** @throws ApiError for an endpoint whose host is a loopback, link-local or metadata address */
function forbidNearEndpoints({ endpoint, iamEndpoint, stsEndpoint }: AwsClientConfig): void {
  const endpoints = { endpoint, iam_endpoint: iamEndpoint, sts_endpoint: stsEndpoint }
  for (const [name, url] of Object.entries(endpoints))
    if (url !== '' && isLocalAddress(new URL(url).hostname))
      throw invalidRequestError(
        `${name} must not name a loopback, link-local or metadata address: use the address of an AWS endpoint or of a proxy`,
      )
}

const warningsOf = ({ stsEndpoint, stsRegion, accessKey }: AwsClientConfig): string[] => [
  ...((stsEndpoint === '') === (stsRegion === '')
    ? []
    : ['sts_endpoint and sts_region should be set together']),
  ...(accessKey.startsWith('ASIA')
    ? [
        'access_key is a temporary key, which AWS refuses without its session token: configure the key of an IAM user, ' +
          'or no access key, so that the mount uses the role of the service',
      ]
    : []),
]

/** Handles GET config/client. Returns every setting except the secret key. */
export const readClientConfig = (call: Call): CallOutcome =>
  answer(dataAnswer(clientSettingsAnswer(requireSubject(call, 'client-config').data)))
