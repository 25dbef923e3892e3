import { boolField, intField, listField, type ParameterField, textField } from '../../api/fields.ts'
import { type ClientSettingName, canonicalHeaderNames } from './client-settings.ts'

/** The request field of each setting of a mount's calls to AWS. Logins load the settings without these texts. */
export const clientSettingFields = {
  max_retries: intField('Retries of recoverable errors; negative: the SDK’s default (2 retries)'),
  access_key: textField('Access key ID for calls to AWS; empty: the environment’s credentials'),
  endpoint: textField('URL instead of the EC2 endpoint of the instance’s region'),
  iam_endpoint: textField('URL instead of the IAM endpoint'),
  sts_endpoint: textField('URL instead of the STS endpoint; sts_region should be set with it'),
  sts_region: textField('Region of sts_endpoint'),
  use_sts_region_from_client: boolField(
    'Call STS in the region that the client signed for; overrides sts_endpoint and sts_region',
  ),
  iam_server_id_header_value: textField(
    'Value that iam logins must carry in a signed X-Service-Cloud-IAM-Server-ID header',
  ),
  allowed_sts_header_values: listField('Further request headers permitted in iam_request_headers', {
    counts: canonicalHeaderNames,
  }),
} satisfies Readonly<Record<ClientSettingName, ParameterField<unknown>>>
