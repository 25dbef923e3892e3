import {
  type Answer,
  after,
  answer,
  type Call,
  data,
  mountOf,
  nothing,
  type Outcome,
  subjectOf,
} from '../../api/call.ts'
import { ApiError, invalid } from '../../api/errors.ts'
import { bool, int, list, type Supplied, text } from '../../api/fields.ts'
import type { ProviderSettings, Sealer } from '../../ports.ts'
import { erase, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { headerName } from '../../values/names.ts'
import type { Secret } from '../../values/secret.ts'
import type { ClientConfig } from './stored.ts'

export const clientFields = {
  max_retries: int('Retries of recoverable errors; negative: the SDK’s default (2 retries)'),
  access_key: text('Access key ID for calls to AWS; empty: the environment’s credentials'),
  secret_key: text('Secret access key', { secret: true }),
  endpoint: text('URL instead of the EC2 endpoint of the instance’s region'),
  iam_endpoint: text('URL instead of the IAM endpoint'),
  sts_endpoint: text('URL instead of the STS endpoint; sts_region should be set with it'),
  sts_region: text('Region of sts_endpoint'),
  use_sts_region_from_client: bool(
    'Call STS in the region that the client signed for, whatever the two above say',
  ),
  iam_server_id_header_value: text(
    'Value that iam logins must carry in a signed X-Service-Cloud-IAM-Server-ID header',
  ),
  allowed_sts_header_values: list('Further request headers permitted in iam_request_headers'),
}

/** What holds where nothing was ever configured. */
export const defaultClient: ClientConfig = {
  accessKey: '',
  endpoint: '',
  iamEndpoint: '',
  stsEndpoint: '',
  stsRegion: '',
  useStsRegionFromClient: false,
  serverId: '',
  allowedHeaders: [],
  maxRetries: -1,
}

/** POST config/client: fields that are not supplied keep their values. @see auth-behaviour 3.1 */
export async function writeClient(call: Call<typeof clientFields>): Promise<Outcome> {
  const stored = subjectOf(call, 'client-config')
  const next = merge(stored?.data ?? defaultClient, call.given, call.ports.deployment.plainEndpoints)
  const place = key('client-config', mountOf(call).accessor)
  const { secret_key: secret, access_key: accessKey } = call.given
  if (secret !== undefined || accessKey !== undefined) {
    // what an administrator configures is not the successor of an earlier rotation
    delete next.previousAccessKey
    delete next.previousSecretKey
  }
  if (secret === '') delete next.secretKey
  else if (secret !== undefined) next.secretKey = await call.ports.sealer.seal(place, 'secretKey', secret)
  return after([replace(place, stored, next)], nothing(warningsOf(next)))
}

function merge(stored: ClientConfig, given: Supplied<typeof clientFields>, plain: boolean): ClientConfig {
  return {
    ...stored,
    accessKey: given.access_key ?? stored.accessKey,
    endpoint: checkEndpoint('endpoint', given.endpoint, plain) ?? stored.endpoint,
    iamEndpoint: checkEndpoint('iam_endpoint', given.iam_endpoint, plain) ?? stored.iamEndpoint,
    stsEndpoint: checkEndpoint('sts_endpoint', given.sts_endpoint, plain) ?? stored.stsEndpoint,
    stsRegion: given.sts_region ?? stored.stsRegion,
    useStsRegionFromClient: given.use_sts_region_from_client ?? stored.useStsRegionFromClient,
    serverId: given.iam_server_id_header_value ?? stored.serverId,
    allowedHeaders: given.allowed_sts_header_values?.map(headerName) ?? stored.allowedHeaders,
    maxRetries: given.max_retries ?? stored.maxRetries,
  }
}

function checkEndpoint(field: string, value: string | undefined, plain: boolean): string | undefined {
  if (value === undefined || value === '') return value
  const url = URL.canParse(value) ? new URL(value) : undefined
  const schemes = plain ? ['https:', 'http:'] : ['https:']
  const usable =
    url &&
    schemes.includes(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    !/[#?\\\s]/.test(value)
  if (!usable) throw invalid(`${field} must be an absolute https URL`)
  return value
}

const warningsOf = ({ stsEndpoint, stsRegion }: ClientConfig): string[] =>
  (stsEndpoint === '') === (stsRegion === '') ? [] : ['sts_endpoint and sts_region should be set together']

/** GET config/client: everything but the secret key. */
export function readClient(call: Call): Outcome {
  const stored = subjectOf(call, 'client-config')
  if (!stored) throw new ApiError('not_found')
  return answer(clientAnswer(stored.data))
}

const clientAnswer = (config: ClientConfig): Answer =>
  data({
    access_key: config.accessKey,
    endpoint: config.endpoint,
    iam_endpoint: config.iamEndpoint,
    sts_endpoint: config.stsEndpoint,
    sts_region: config.stsRegion,
    use_sts_region_from_client: config.useStsRegionFromClient,
    iam_server_id_header_value: config.serverId,
    allowed_sts_header_values: config.allowedHeaders,
    max_retries: config.maxRetries,
  })

/** DELETE config/client: defaults apply from the next request on. */
export const deleteClient = (call: Call): Outcome =>
  after([erase(key('client-config', mountOf(call).accessor))])

/** The settings of a mount's calls to AWS, with its secrets opened. */
export async function providerSettings(
  stored: Item<'client-config'> | undefined,
  sealer: Sealer,
): Promise<ProviderSettings> {
  const config = stored?.data ?? defaultClient
  const credentials = await pair(stored, sealer, 'secretKey', config.accessKey)
  const previous = await pair(stored, sealer, 'previousSecretKey', config.previousAccessKey ?? '')
  return {
    version: stored?.rev ?? 'none',
    ...(credentials ? { credentials } : {}),
    ...(previous ? { previous } : {}),
    maxRetries: config.maxRetries,
    endpoint: config.endpoint,
    iamEndpoint: config.iamEndpoint,
    stsEndpoint: config.stsEndpoint,
    stsRegion: config.stsRegion,
  }
}

async function pair(
  stored: Item<'client-config'> | undefined,
  sealer: Sealer,
  field: 'secretKey' | 'previousSecretKey',
  accessKey: string,
): Promise<{ accessKey: string; secretKey: Secret } | undefined> {
  const sealed = stored?.data[field]
  if (!stored || !sealed || accessKey === '') return undefined
  return { accessKey, secretKey: await sealer.open(stored, field, sealed) }
}
