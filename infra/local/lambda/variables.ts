import { root } from '../../checkout.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import { keptLicence } from './licence.ts'

/** Where functions find AWS, and as whom they call it. */
interface Reached {
  region: string
  credentials: AccessKeyPair
  /** of the imitated AWS */
  provider: string
  /** of the tables */
  tables: string
  /** a file with certificates of authorities; empty: none */
  authorities: string
}

/** The variables of every function, besides those of the template. */
export function variablesOf(
  cluster: string,
  directory: string,
  { region, credentials: { accessKeyId, secretAccessKey }, provider, tables, authorities }: Reached,
): Record<string, string> {
  return {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: tables,
    AWS_ENDPOINT_URL_EC2: provider,
    AWS_ENDPOINT_URL_IAM: provider,
    AWS_ENDPOINT_URL_KMS: provider,
    AWS_ENDPOINT_URL_STS: provider,
    AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: provider,
    AWS_ENDPOINT_URL_EVENTBRIDGE: provider,
    PLAIN_ENDPOINTS: 'true',
    AUTHORITIES: authorities,
    AUDIT_FILE: `${directory}/audit.log`,
    ...keptLicence(directory, cluster),
    NODE_COMPILE_CACHE: `${root}.build/compile-cache`,
    POWERTOOLS_DEV: 'false',
    ...providerCredentials(),
  }
}

/**
 * Credentials for calls on behalf of mounts that have none, where this process is given any.
 * @see docs/spec/configuration.md#reaching-accounts
 */
const providerCredentials = (): Record<string, string> =>
  Object.fromEntries(
    ['CLOUD_ACCESS_KEY', 'CLOUD_SECRET_KEY', 'CLOUD_REGION'].flatMap(name => {
      const value = process.env[name]
      return value ? [[name, value]] : []
    }),
  )
