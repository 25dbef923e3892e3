import { resolve } from 'node:path'
import * as v from 'valibot'
import type { Deployment } from '../../ports.ts'
import type { Tables } from '../../storage/requests.ts'
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
  /** hashes of the proxy's secrets, with commas between them; empty: there is no proxy */
  PROXY_SECRETS: text,
  PROXY_HOPS: v.optional(v.pipe(v.string(), v.regex(/^\d$/)), '1'),
  KEY_ARN: text,
  WORKER_FUNCTION: text,
  PULL_FUNCTION: text,
  WORKFLOWS: text,
  AUDIT_GROUP: text,
  AUDIT_FILE: text,
  /** of the metrics that lines of the log make; empty: they make none */
  METRIC_NAMESPACE: text,
  /** relative to the code */
  AUTHORITIES: text,
  LAMBDA_TASK_ROOT: text,
  LEGACY_SIGNATURES: flag,
  LICENSE: text,
  LICENSE_PUBLIC_KEY: text,
  DRILL_PEER: text,
  DRILL_POLICY: text,
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
  AWS_EC2_METADATA_SERVICE_ENDPOINT: v.optional(v.string(), 'http://169.254.169.254'),
  AWS_LAMBDA_FUNCTION_NAME: text,
  AWS_LAMBDA_HTTP_ENDPOINT: v.optional(v.pipe(v.string(), v.regex(/^(|.+:\d{1,5})$/)), ''),
  AWS_LAMBDA_LOG_FORMAT: text,
  AWS_LAMBDA_LOG_LEVEL: text,
  CLOUD_ACCESS_KEY: text,
  CLOUD_SECRET_KEY: text,
  CLOUD_REGION: text,
})

/** Which client makes a function's calls to the tables: the wire, the SDK, or the SDK all but commits. */
export type TablesClient = 'wire' | 'sdk' | 'sdk-but-commits'

/** What a Lambda is told by its environment. */
export interface Environment extends Deployment {
  tables: Tables
  keyArn: string
  workerFunction: string
  pullFunction: string
  /** what the ARNs of all state machines begin with; their names follow */
  workflows: string
  auditGroup: string
  /** of the metrics that lines of the log make; empty: they make none */
  metricNamespace: string
  /** rehearsals of a switch: where the other cluster is reached, and the policy that allows them; empty: there are none */
  drill: { peer: string; policy: string }
  /** a file for the audit log instead of the console; empty: none */
  auditFile: string
  /** a file with certificates of authorities; empty: none */
  authoritiesFile: string
  /** whether the runtime makes JSON of what the console is given, and drops nothing of the level INFO */
  framedJson: boolean
  /** region of this process, whose own services are called */
  ownRegion: string
  /** where the event bus is reached; empty: where AWS has it */
  eventsEndpoint: string
  /** where STS is reached when the caller's request goes out; empty: where the rules say */
  stsRedirect: string
  /** credentials for calls to AWS on behalf of mounts; empty: the runtime's own */
  cloudKeys: { accessKey: string; secretKey: string }
  /** where instance metadata are, without trailing slash */
  metadataEndpoint: string
  /** instance metadata is asked for credentials only outside Lambda */
  onLambda: boolean
  /** where a Web Function listens; absent: events come instead */
  webEndpoint: { host: string; port: number } | undefined
  /** the client that makes calls to the tables */
  tablesClient: TablesClient
}

/** @param text `host:port`, an IPv6 address in brackets; empty: there is none */
function parseEndpoint(text: string): Environment['webEndpoint'] {
  const mark = text.lastIndexOf(':')
  return mark < 0
    ? undefined
    : { host: text.slice(0, mark).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(mark + 1)) }
}

/** Reads the environment once; all faults are reported together. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const read = v.safeParse(schema, variables)
  if (!read.success) {
    const faults = read.issues.map(issue => `${issue.path?.[0]?.key}: ${issue.message}`)
    throw new Error(`the environment is incomplete: ${faults.join('; ')}`)
  }
  const e = read.output
  const webEndpoint = parseEndpoint(e.AWS_LAMBDA_HTTP_ENDPOINT)
  return {
    version: e.SERVICE_VERSION,
    apiVersion: e.API_VERSION,
    clusterName: e.CLUSTER_NAME,
    home: e.CLUSTER_TABLE,
    region: e.CLOUD_REGION || e.AWS_REGION,
    legacySignatures: e.LEGACY_SIGNATURES,
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
    tables: { data: e.DATA_TABLE, cluster: e.CLUSTER_TABLE, ceremony: e.CEREMONY_TABLE },
    keyArn: e.KEY_ARN,
    workerFunction: e.WORKER_FUNCTION,
    pullFunction: e.PULL_FUNCTION,
    workflows: e.WORKFLOWS,
    auditGroup: e.AUDIT_GROUP,
    metricNamespace: e.METRIC_NAMESPACE,
    drill: { peer: e.DRILL_PEER, policy: e.DRILL_POLICY },
    auditFile: e.AUDIT_FILE,
    authoritiesFile: e.AUTHORITIES && resolve(e.LAMBDA_TASK_ROOT, e.AUTHORITIES),
    // of a Web Function there is no other format
    framedJson:
      (webEndpoint !== undefined || e.AWS_LAMBDA_LOG_FORMAT.toUpperCase() === 'JSON') &&
      !['WARN', 'ERROR', 'FATAL'].includes(e.AWS_LAMBDA_LOG_LEVEL.toUpperCase()),
    ownRegion: e.AWS_REGION,
    eventsEndpoint: e.AWS_ENDPOINT_URL_EVENTBRIDGE,
    stsRedirect: e.AWS_ENDPOINT_URL_STS,
    cloudKeys: { accessKey: e.CLOUD_ACCESS_KEY, secretKey: e.CLOUD_SECRET_KEY },
    metadataEndpoint: e.AWS_EC2_METADATA_SERVICE_ENDPOINT.replace(/\/$/, ''),
    // a Web Function has no variable with its name
    onLambda: e.AWS_LAMBDA_FUNCTION_NAME !== '' || webEndpoint !== undefined,
    webEndpoint,
    tablesClient: e.TABLES_CLIENT,
  }
}

/** The credentials that the runtime gives this process; it may exchange them at any time. */
export function runtimeCredentials(variables: NodeJS.ProcessEnv = process.env) {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = variables
  if (!accessKeyId || !secretAccessKey) return undefined
  return defined({ accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined })
}

/** The same. @throws Error when there are none */
export function ownCredentials() {
  const credentials = runtimeCredentials()
  if (!credentials) throw new Error('this process has no credentials')
  return credentials
}

/** The console page: whether it is served, the origin of the other cluster that it asks, and whose page may read this one. */
export interface ConsoleSettings {
  isServed: boolean
  /** empty: none */
  peer: string
  /** empty: nobody's */
  origin: string
}

export const consoleSettings = (variables: NodeJS.ProcessEnv = process.env): ConsoleSettings => ({
  isServed: variables['CONSOLE'] === 'true',
  peer: variables['CONSOLE_PEER'] ?? '',
  origin: variables['CONSOLE_ORIGIN'] ?? '',
})

/** What says where AWS is reached, by variables that the SDK knows, too. */
export interface WireSettings {
  region: string
  fips: boolean
  dualStack: boolean
  /** of the credentials; empty: not known */
  accountId: string
  /** whether DynamoDB is asked at the endpoint of the account */
  accountMode: 'preferred' | 'disabled' | 'required'
  /** the endpoint that is given for a service */
  endpointOf(service: string): string | undefined
}

const wireSchema = v.object({
  AWS_REGION: v.pipe(v.string(), v.nonEmpty()),
  AWS_USE_FIPS_ENDPOINT: flag,
  AWS_USE_DUALSTACK_ENDPOINT: flag,
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: flag,
  AWS_ACCOUNT_ID: v.optional(v.pipe(v.string(), v.regex(/^\d{12}$|^$/)), ''),
  AWS_ACCOUNT_ID_ENDPOINT_MODE: v.optional(v.picklist(['preferred', 'disabled', 'required']), 'preferred'),
})

/** Reads where AWS is reached. @throws when a variable has a value that means nothing */
export function wireSettings(variables: NodeJS.ProcessEnv = process.env): WireSettings {
  const e = v.parse(wireSchema, variables)
  return {
    region: e.AWS_REGION,
    fips: e.AWS_USE_FIPS_ENDPOINT,
    dualStack: e.AWS_USE_DUALSTACK_ENDPOINT,
    accountId: e.AWS_ACCOUNT_ID,
    accountMode: e.AWS_ACCOUNT_ID_ENDPOINT_MODE,
    endpointOf: service =>
      e.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS
        ? undefined
        : variables[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] ||
          variables['AWS_ENDPOINT_URL'] ||
          undefined,
  }
}
