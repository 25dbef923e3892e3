import { checkoutRoot } from '../../checkout.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import { readOrCreateLicence } from './licence.ts'

/** Addresses and credentials by which functions reach AWS. */
interface Reached {
  region: string
  credentials: AccessKeyPair
  /** address of the imitated AWS */
  provider: string
  /** address of the tables */
  tables: string
  /** a file with CA certificates; empty: none */
  authorities: string
}

/** Builds the environment variables of every function, in addition to the variables of the template. */
export function buildLambdaVariables(
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
    AWS_ENDPOINT_URL_ORGANIZATIONS: provider,
    AWS_ENDPOINT_URL_STS: provider,
    ISSUER_REDIRECT: provider,
    AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: provider,
    AWS_ENDPOINT_URL_EVENTBRIDGE: provider,
    PLAIN_ENDPOINTS: 'true',
    AUTHORITIES: authorities,
    AUDIT_FILE: `${directory}/audit.log`,
    ...readOrCreateLicence(directory, cluster),
    NODE_COMPILE_CACHE: `${checkoutRoot}.build/compile-cache`,
    POWERTOOLS_DEV: 'false',
    ...providerCredentials(),
  }
}

/**
 * Returns credentials for AWS calls of mounts without their own credentials, if this process has any.
 * @see docs/spec/configuration.md#reaching-accounts
 */
const providerCredentials = (): Record<string, string> =>
  Object.fromEntries(
    ['CLOUD_ACCESS_KEY', 'CLOUD_SECRET_KEY', 'CLOUD_REGION'].flatMap(name => {
      const value = process.env[name]
      return value ? [[name, value]] : []
    }),
  )
