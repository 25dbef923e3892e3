import { resolve } from 'node:path'
import * as v from 'valibot'
import type { Deployment } from '../../ports.ts'
import { defined } from '../../values/defined.ts'

const flag = v.optional(
  v.pipe(
    v.picklist(['', 'true', 'false']),
    v.transform(word => word === 'true'),
  ),
  '',
)
const text = v.optional(v.string(), '')

const schema = v.object({
  AWS_REGION: v.pipe(v.string(), v.nonEmpty()),
  DATA_TABLE: v.pipe(v.string(), v.nonEmpty()),
  CLUSTER_TABLE: v.pipe(v.string(), v.nonEmpty()),
  CEREMONY_TABLE: text,
  CLUSTER_NAME: v.optional(v.string(), 'cloud-auth'),
  API_ADDRESS: text,
  LINK_ADDRESS: text,
  /** comma-separated hashes of the proxy's secrets; empty: the deployment has no proxy */
  PROXY_SECRETS: text,
  PROXY_HOPS: v.optional(v.pipe(v.string(), v.regex(/^\d$/)), '1'),
  KEY_ARN: text,
  WORKER_FUNCTION: text,
  PULL_FUNCTION: text,
  WORKFLOWS: text,
  AUDIT_GROUP: text,
  AUDIT_FILE: text,
  /** namespace of the metrics in log lines; empty: log lines contain no metrics */
  METRIC_NAMESPACE: text,
  /** path of the shipped authorities, relative to the code */
  AUTHORITIES: text,
  LAMBDA_TASK_ROOT: text,
  LEGACY_SIGNATURES: flag,
  LICENSE: text,
  LICENSE_PUBLIC_KEY: text,
  DRILL_PEER: text,
  DRILL_POLICY: text,
  INSTANCE_EVENTS: flag,
  INIT_PGP_KEYS: text,
  STRICT_CEREMONY: flag,
  TABLES_CLIENT: v.optional(v.picklist(['wire', 'sdk', 'sdk-but-commits']), 'wire'),
  HEALTH_CHECKS_KEYRING: flag,
  PLAIN_ENDPOINTS: flag,
  ASSUMABLE_ROLES: text,
  SERVICE_VERSION: v.optional(v.string(), '0.0.0'),
  API_VERSION: v.optional(v.string(), '0.0.0'),
  AWS_ENDPOINT_URL_STS: text,
  AWS_ENDPOINT_URL_EVENTBRIDGE: text,
  ISSUER_REDIRECT: text,
  AWS_EC2_METADATA_SERVICE_ENDPOINT: v.optional(v.string(), 'http://169.254.169.254'),
  AWS_LAMBDA_FUNCTION_NAME: text,
  AWS_LAMBDA_HTTP_ENDPOINT: v.optional(v.pipe(v.string(), v.regex(/^(|.+:\d{1,5})$/)), ''),
  AWS_LAMBDA_LOG_FORMAT: text,
  AWS_LAMBDA_LOG_LEVEL: text,
  CLOUD_ACCESS_KEY: text,
  CLOUD_SECRET_KEY: text,
  CLOUD_REGION: text,
})

/**
 * Parses an address.
 * @param text `host:port`, an IPv6 address in brackets; empty: no address
 */
function parseEndpoint(text: string): { host: string; port: number } | undefined {
  const mark = text.lastIndexOf(':')
  return mark < 0
    ? undefined
    : { host: text.slice(0, mark).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(mark + 1)) }
}

/** Returns the facts about the deployment in a function's environment variables. */
const toDeployment = (e: v.InferOutput<typeof schema>): Deployment => ({
  version: e.SERVICE_VERSION,
  apiVersion: e.API_VERSION,
  clusterName: e.CLUSTER_NAME,
  home: e.CLUSTER_TABLE,
  region: e.CLOUD_REGION || e.AWS_REGION,
  legacySignatures: e.LEGACY_SIGNATURES,
  instanceEvents: e.INSTANCE_EVENTS,
  plainEndpoints: e.PLAIN_ENDPOINTS,
  assumableRoles: e.ASSUMABLE_ROLES.split(',').filter(pattern => pattern !== ''),
  initPgpKeys: e.INIT_PGP_KEYS.split(',').filter(fingerprint => fingerprint !== ''),
  strictCeremony: e.STRICT_CEREMONY,
  proxy: e.PROXY_SECRETS
    ? { secretHashes: e.PROXY_SECRETS.split(','), hops: Number(e.PROXY_HOPS) }
    : undefined,
  healthChecksKeyring: e.HEALTH_CHECKS_KEYRING,
  apiAddress: e.API_ADDRESS,
  linkAddress: e.LINK_ADDRESS,
  license: { text: e.LICENSE, publicKey: e.LICENSE_PUBLIC_KEY },
})

/** Reads the environment variables of a function. One error reports all invalid environment variables. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  const read = v.safeParse(schema, variables)
  if (!read.success) {
    const faults = read.issues.map(issue => `${issue.path?.[0]?.key}: ${issue.message}`)
    throw new Error(`invalid environment variables: ${faults.join('; ')}`)
  }
  const e = read.output
  const webEndpoint = parseEndpoint(e.AWS_LAMBDA_HTTP_ENDPOINT)
  return {
    ...toDeployment(e),
    tables: { data: e.DATA_TABLE, cluster: e.CLUSTER_TABLE, ceremony: e.CEREMONY_TABLE },
    keyArn: e.KEY_ARN,
    workerFunction: e.WORKER_FUNCTION,
    pullFunction: e.PULL_FUNCTION,
    /** `workflows`: prefix of the ARNs of all state machines; the workflows' names follow it */
    workflows: e.WORKFLOWS,
    auditGroup: e.AUDIT_GROUP,
    /** namespace of the metrics in log lines; empty: log lines contain no metrics */
    metricNamespace: e.METRIC_NAMESPACE,
    /** `drill`: address of the other cluster, and the policy that allows drills; empty: drills are off */
    drill: { peer: e.DRILL_PEER, policy: e.DRILL_POLICY },
    /** `auditFile`: file for the audit log instead of the console; empty: no file */
    auditFile: e.AUDIT_FILE,
    /** `authoritiesFile`: file with certificates of authorities; empty: no file */
    authoritiesFile: e.AUTHORITIES && resolve(e.LAMBDA_TASK_ROOT, e.AUTHORITIES),
    /**
     * whether the runtime prints console output as JSON and keeps lines of level INFO. A Web Function has no other
     * log format.
     */
    framedJson:
      (webEndpoint !== undefined || e.AWS_LAMBDA_LOG_FORMAT.toUpperCase() === 'JSON') &&
      !['WARN', 'ERROR', 'FATAL'].includes(e.AWS_LAMBDA_LOG_LEVEL.toUpperCase()),
    /** region of this process, whose own services it calls */
    ownRegion: e.AWS_REGION,
    /** endpoint of the event bus; empty: AWS's default */
    eventsEndpoint: e.AWS_ENDPOINT_URL_EVENTBRIDGE,
    /** endpoint that clients' requests to STS are redirected to; empty: none */
    stsRedirect: e.AWS_ENDPOINT_URL_STS,
    /** endpoint at which the keys of issuers are fetched, instead of their own hosts; empty: their own hosts */
    issuerRedirect: e.ISSUER_REDIRECT,
    /** `cloudKeys`: credentials for calls to AWS on behalf of mounts; empty: the runtime's own credentials */
    cloudKeys: { accessKey: e.CLOUD_ACCESS_KEY, secretKey: e.CLOUD_SECRET_KEY },
    /** endpoint of the instance metadata, without trailing slash */
    metadataEndpoint: e.AWS_EC2_METADATA_SERVICE_ENDPOINT.replace(/\/$/, ''),
    /**
     * credentials from instance metadata are used only outside Lambda. A Web Function has no environment variable
     * with its name.
     */
    onLambda: e.AWS_LAMBDA_FUNCTION_NAME !== '' || webEndpoint !== undefined,
    /** `webEndpoint`: address on which a Web Function listens; absent: the function receives events instead */
    webEndpoint,
    /** the client that makes calls to the tables: this service's own client (`wire`), or the SDK */
    tablesClient: e.TABLES_CLIENT,
  }
}

/** The settings of a Lambda, from its environment variables. */
export type LambdaEnvironment = ReturnType<typeof readEnvironment>
/**
 * The client for a function's calls to the tables: this service's own client (`wire`), the SDK, or the SDK for
 * everything except commits.
 */
export type TablesClientKind = LambdaEnvironment['tablesClient']

/** Returns the credentials that the runtime gives this process. The runtime may replace its credentials at any time. */
export function readRuntimeCredentials(variables: NodeJS.ProcessEnv = process.env) {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = variables
  if (!accessKeyId || !secretAccessKey) return undefined
  return defined({ accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined })
}

/**
 * Returns the credentials of this process.
 * @throws Error when the runtime gives no credentials
 */
export function readOwnCredentials() {
  const credentials = readRuntimeCredentials()
  if (!credentials) throw new Error('this process has no AWS credentials')
  return credentials
}

/**
 * Reads the settings of the console page: whether it is served, the origin of the other cluster that it calls, and the
 * origin whose page may call this cluster. An empty origin: none.
 */
export const readConsoleSettings = (variables: NodeJS.ProcessEnv = process.env) => ({
  isServed: variables['CONSOLE'] === 'true',
  peer: variables['CONSOLE_PEER'] ?? '',
  origin: variables['CONSOLE_ORIGIN'] ?? '',
})

const wireSchema = v.object({
  AWS_REGION: v.pipe(v.string(), v.nonEmpty()),
  AWS_USE_FIPS_ENDPOINT: flag,
  AWS_USE_DUALSTACK_ENDPOINT: flag,
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: flag,
  AWS_ACCOUNT_ID: v.optional(v.pipe(v.string(), v.regex(/^\d{12}$|^$/)), ''),
  AWS_ACCOUNT_ID_ENDPOINT_MODE: v.optional(v.picklist(['preferred', 'disabled', 'required']), 'preferred'),
})

/**
 * Reads the settings for the endpoints of AWS services, from variables that the SDK uses too.
 * @throws Error when a variable has an invalid value
 */
export function readWireSettings(variables: NodeJS.ProcessEnv = process.env) {
  const e = v.parse(wireSchema, variables)
  return {
    region: e.AWS_REGION,
    fips: e.AWS_USE_FIPS_ENDPOINT,
    dualStack: e.AWS_USE_DUALSTACK_ENDPOINT,
    /** `accountId`: account of the credentials; empty: unknown */
    accountId: e.AWS_ACCOUNT_ID,
    /** whether DynamoDB is called at the endpoint of the account */
    accountMode: e.AWS_ACCOUNT_ID_ENDPOINT_MODE,
    /** returns the configured endpoint of a service */
    endpointOf: (service: string): string | undefined =>
      e.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS
        ? undefined
        : variables[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] ||
          variables['AWS_ENDPOINT_URL'] ||
          undefined,
  }
}

/** The settings for the endpoints of AWS services. */
export type WireSettings = ReturnType<typeof readWireSettings>
