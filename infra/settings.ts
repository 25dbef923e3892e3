import * as v from 'valibot'
import { readLicence } from '../shared/api/licence.ts'
import { accountSettingFields, findAccountSettingFaults } from './account-settings.ts'
import { readAuthorities } from './build/authorities.ts'
import { listFunctionNames } from './checkout.ts'
import { addDefaultApiAddress, findFrontFaults, frontSettingFields } from './front-settings.ts'
import { describeSchemaFault, parseSettings, SettingsError } from './settings-fault.ts'
import { findWebSettingFault, webSettingFields } from './web-settings.ts'

const DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
]
const days = (fallback: number) =>
  v.optional(
    v.pipe(
      v.number(),
      v.check(value => DAYS.includes(value), `must be one of ${DAYS.join(', ')}`),
    ),
    fallback,
  )
const wholeNumber = v.pipe(v.number(), v.integer(), v.minValue(1))
/** Requests per second and the burst above that rate. */
const throttle = (rate: number, burst: number) =>
  v.optional(v.strictObject({ rate: wholeNumber, burst: wholeNumber }), { rate, burst })
const megabytes = v.pipe(wholeNumber, v.minValue(256), v.maxValue(10_240))

const unknownFunctions = (given: object): string[] => {
  const known = listFunctionNames()
  return Object.keys(given).filter(name => !known.includes(name))
}

const ROLE_PATTERN = /^arn:(?:\*|aws[a-z-]*):iam::(?:\*|\d{12}):role\/[\w+=,.@/*-]+$/

const tableName = v.pipe(
  v.string(),
  v.regex(/^[\w.-]{3,255}$/, 'must be the name of a table: 3 to 255 letters, digits, "_", "." or "-"'),
)

const isAddress = (text: string): boolean =>
  text.startsWith('https://') && URL.canParse(text) && new URL(text).origin === text

const address = v.pipe(
  v.string(),
  v.check(isAddress, 'must be "https://" and a host, without path or trailing slash'),
)

/** SHA-256 of empty input and of a single line feed. */
const HASHES_OF_LITTLE = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b',
]
const isHashOfLittle = (hash: string): boolean => HASHES_OF_LITTLE.includes(hash.toLowerCase())

const FINGERPRINT = /^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/
// Maximum number of key fingerprints. The limit is the room in a Lambda function's environment.
const MOST_KEYS = 40

/** Returns why the CA certificates in a folder cannot be shipped, or undefined if they can be shipped. */
function authoritiesFault(folder: string): string | undefined {
  try {
    readAuthorities(folder)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * Settings of one deployment: the object `settings` in cdk.json's context, or `-c settings='{…}'`. Unknown names are
 * rejected, and all faults are reported together.
 */
export const settingsSchema = v.strictObject({
  /** distinguishes deployments in one account; part of every stack name */
  stage: v.pipe(
    v.string(),
    v.regex(
      /^[a-z][a-z0-9-]{0,19}$/,
      'must begin with a letter and have at most 20 lower-case letters, digits and dashes',
    ),
  ),
  /**
   * name of the cluster in health and status; default `cloud-auth-<stage>`. `sys/init` stores the name, so a later
   * change does not rename the cluster.
   */
  clusterName: v.optional(
    v.pipe(v.string(), v.regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')),
  ),
  /** keeps tables and key when a stack is deleted, and protects them from deletion */
  deletionProtection: v.optional(v.boolean(), true),
  /** restored tables, and optionally a key, that replace the tables and the key of the data stack */
  restored: v.optional(
    v.strictObject({
      dataTable: tableName,
      clusterTable: tableName,
      /** ARN of the restored table's stream; without it only the schedule of every minute triggers `on-journal` */
      clusterStreamArn: v.optional(
        v.pipe(
          v.string(),
          v.regex(
            /^arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table\/[\w.-]+\/stream\/[\w:.-]+$/,
            'must be the ARN of a stream of a table',
          ),
        ),
      ),
      keyArn: v.optional(
        v.pipe(
          v.string(),
          v.regex(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[\w-]+$/, 'must be the ARN of a key'),
        ),
      ),
    }),
  ),
  /** retention of function logs and the access log */
  logRetentionDays: days(30),
  /** retention of the audit log */
  auditRetentionDays: days(365),
  /** trusts the built-in DSA and RSA-1024 certificates, and SHA-1 */
  legacySignatures: v.optional(v.boolean(), false),
  /** roles in satellite accounts that the functions may assume */
  assumableRoleArns: v.optional(
    v.array(v.pipe(v.string(), v.regex(ROLE_PATTERN, 'must be a role ARN; "*" is allowed as a wildcard'))),
    ['arn:*:iam::*:role/cloud-auth-*'],
  ),
  /**
   * fingerprints of the OpenPGP keys of the recovery share holders. Initialisation then accepts exactly these keys,
   * so that the person who invokes it can read neither a share nor the root token.
   */
  initPgpKeys: v.optional(
    v.pipe(
      v.array(
        v.pipe(v.string(), v.regex(FINGERPRINT, 'must be 40 or 64 hexadecimal digits'), v.toLowerCase()),
      ),
      v.minLength(1, 'must name at least one key, or be left out'),
      v.maxLength(MOST_KEYS, `must name at most ${MOST_KEYS} keys`),
      v.check(keys => new Set(keys).size === keys.length, 'must not name a key twice'),
    ),
  ),
  /**
   * an authorised token or a direct invocation is needed to start and cancel the generation of a DR operation
   * token or of a new recovery key. If false, anyone may start an attempt, and cancel an attempt without
   * shares.
   */
  strictCeremony: v.optional(v.boolean(), true),
  /**
   * sys/health returns 503 instead of 200 while KMS cannot unwrap the keyring of a serving cluster. Running
   * environments keep the unwrapped keyring and continue to serve, but every new environment fails.
   */
  healthChecksKeyring: v.optional(v.boolean(), false),
  /**
   * client for the frequent table calls: logins, renewals, token checks, the follower and all commits. `wire` is our
   * own and needs half the CPU time; `sdk` is AWS's SDK, which makes all other calls in any case.
   */
  tablesClient: v.optional(v.picklist(['wire', 'sdk']), 'wire'),
  ...frontSettingFields,
  /** address of the API if it has its own domain; default: the name of `domain`, else API Gateway's default endpoint */
  apiAddress: v.optional(address),
  /**
   * continues a deployment although API Gateway warns about the API's OpenAPI definition. Without this
   * setting, such a warning fails the deployment.
   */
  passImportWarnings: v.optional(v.boolean(), false),
  /** closes API Gateway's default endpoint, so that only `apiAddress` remains */
  closeDefaultEndpoint: v.optional(v.boolean(), false),
  /**
   * proxy in front of the API, whose address all clients use. `secretHashes` are SHA-256 hashes of the secret in its
   * header `X-Origin-Secret` (two during a rotation). `hops` is the number of proxies that append their caller's
   * address to X-Forwarded-For.
   */
  proxy: v.optional(
    v.strictObject({
      secretHashes: v.pipe(
        v.array(
          v.pipe(
            v.string(),
            v.regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 hash of 64 hexadecimal digits'),
            v.check(hash => !isHashOfLittle(hash), 'must be the hash of a secret, not of an empty text'),
            v.toLowerCase(),
          ),
        ),
        v.minLength(1, 'must have at least one hash'),
        v.maxLength(2, 'must have at most two hashes: of the present and of the previous or next secret'),
      ),
      hops: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(9)), 1),
    }),
  ),
  /** version of the API that health and seal-status report; clients choose features by it */
  apiVersion: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,4}\.\d{1,4}\.\d{1,4}$/, 'must be three numbers, such as 1.19.5')),
    '1.19.5',
  ),
  /** licence for DR replication, a JWT */
  license: v.optional(v.pipe(v.string(), v.maxLength(1536, 'must have at most 1,536 characters'))),
  /** public key of the licence's signer: Ed25519, base64 DER */
  licensePublicKey: v.optional(v.string()),
  /**
   * folder with PEM certificates of CAs that may sign certificates of other clusters in a DR set. `ca_file` or
   * `ca_path` names them when a cluster becomes a secondary.
   */
  caBundles: v.optional(
    v.pipe(
      v.string(),
      v.check(
        folder => authoritiesFault(folder) === undefined,
        ({ input }) => authoritiesFault(input) ?? '',
      ),
    ),
  ),
  /**
   * scheduled planned switch to another cluster of the set and back: the schedule (EventBridge's `rate(…)` or
   * `cron(…)`), the other cluster's address, and the policy that an administrator has written for the drill
   */
  drill: v.optional(
    v.strictObject({
      schedule: v.pipe(
        v.string(),
        v.regex(/^(?:rate|cron)\(.+\)$/, 'must be an EventBridge schedule, "rate(…)" or "cron(…)"'),
      ),
      peer: address,
      policy: v.pipe(
        v.string(),
        v.regex(
          /^(?!root$|default$)[a-z0-9][a-z0-9._-]{0,127}$/,
          'must be the name of a policy other than "root" and "default"',
        ),
      ),
    }),
  ),
  /** serves the console page at `/ui/`; `peer`: address of the other cluster, whose status the page shows */
  console: v.optional(
    v.strictObject({
      peer: v.optional(address),
    }),
  ),
  /** origin of the other cluster's page, which may read only `sys/health` and the replication status */
  consoleOrigin: v.optional(address),
  /** ARNs that alarms notify, for example SNS topics; empty: alarms only change their state */
  alarmActionArns: v.optional(v.array(v.pipe(v.string(), v.startsWith('arn:', 'must be an ARN'))), []),
  /** enables tracing by Lambda; X-Ray charges per trace */
  tracing: v.optional(v.boolean(), false),
  /** adds a dashboard with the service's metrics and AWS's own */
  dashboard: v.optional(v.boolean(), false),
  /** requests per second and burst over all clients; bounds the cost that strangers can cause */
  throttle: throttle(500, 1000),
  /** requests per second and burst for calls of other clusters, which have a throttle of their own */
  linkThrottle: throttle(100, 200),
  /** requests per second and burst for `sys/health` */
  healthThrottle: throttle(50, 100),
  /** reserved concurrency of logins, so that other functions cannot use it up */
  loginConcurrency: v.optional(wholeNumber),
  /** provisioned concurrency of the login function; AWS charges for it continuously */
  loginProvisionedConcurrency: v.optional(wholeNumber),
  ...webSettingFields,
  ...accountSettingFields,
  /**
   * reserved concurrency of the DR replication functions, so that strangers who use up all other concurrency
   * cannot stop replication. The minimum is the number of requests that run concurrently in normal operation.
   */
  drConcurrency: v.optional(
    v.strictObject({
      link: v.optional(v.pipe(wholeNumber, v.minValue(5))),
      'on-pull': v.optional(v.pipe(wholeNumber, v.minValue(3))),
      'on-journal': v.optional(v.pipe(wholeNumber, v.minValue(3))),
      'on-operation': v.optional(v.pipe(wholeNumber, v.minValue(2))),
    }),
  ),
  /** concurrency quota of the account in this region; Lambda keeps 100 of it unreserved */
  accountConcurrency: v.optional(wholeNumber, 1000),
  /** memory of functions in MB; CPU time grows with it */
  memory: v.optional(megabytes, 1024),
  /** memory of single functions in MB, by folder in functions/; default: the workers' table, else `memory` */
  functionMemory: v.optional(
    v.pipe(
      v.record(v.string(), megabytes),
      v.check(
        given => unknownFunctions(given).length === 0,
        ({ input }) =>
          `must name folders of functions/, and these are unknown: ${unknownFunctions(input).join(', ')}`,
      ),
    ),
    {},
  ),
})

/** Concurrency that Lambda keeps unreserved in each account. */
const UNRESERVED = 100

/** Returns why a licence cannot be read. An expired licence can be read. */
function licenceFault(given: { license?: string | undefined; licensePublicKey?: string | undefined }) {
  const { license: text = '', licensePublicKey: publicKey = '' } = given
  if (text === '' && publicKey === '') return undefined
  const read = readLicence({ text, publicKey })
  return read.ok ? undefined : read.fault
}

/** Rules between settings. */
const schema = v.pipe(
  settingsSchema,
  v.forward(
    v.partialCheck(
      [['closeDefaultEndpoint'], ['apiAddress']],
      ({ closeDefaultEndpoint, apiAddress }) => !closeDefaultEndpoint || apiAddress !== undefined,
      'needs apiAddress, because without the default endpoint the API has no other address',
    ),
    ['closeDefaultEndpoint'],
  ),
  v.forward(
    v.partialCheck(
      [['proxy'], ['apiAddress']],
      ({ proxy, apiAddress }) => !proxy || apiAddress !== undefined,
      'needs apiAddress, the proxy’s address: other clusters of a set use it, because API Gateway’s default endpoint rejects requests without the proxy’s secret',
    ),
    ['proxy'],
  ),
  v.forward(
    v.partialCheck(
      [['loginProvisionedConcurrency'], ['loginConcurrency'], ['accountConcurrency']],
      ({ loginProvisionedConcurrency: provisioned = 0, loginConcurrency, accountConcurrency }) =>
        provisioned <= (loginConcurrency ?? accountConcurrency - UNRESERVED),
      `must be at most loginConcurrency (if it is not set: accountConcurrency minus ${UNRESERVED}), because Lambda rejects more`,
    ),
    ['loginProvisionedConcurrency'],
  ),
  v.forward(
    v.partialCheck(
      [['drill'], ['apiAddress']],
      ({ drill, apiAddress }) => !drill || (apiAddress !== undefined && apiAddress !== drill.peer),
      'needs apiAddress and a different address as peer, because a drill calls both clusters',
    ),
    ['drill'],
  ),
  v.forward(
    v.partialCheck(
      [['restored']],
      ({ restored }) => !restored || restored.dataTable !== restored.clusterTable,
      'dataTable and clusterTable must be two different tables',
    ),
    ['restored'],
  ),
  v.forward(
    v.partialCheck(
      [['restored']],
      ({ restored: { clusterStreamArn: stream, clusterTable } = { clusterTable: '' } }) =>
        stream === undefined || stream.includes(`:table/${clusterTable}/stream/`),
      'clusterStreamArn must be the ARN of a stream of clusterTable',
    ),
    ['restored'],
  ),
  v.forward(
    v.partialCheck(
      [['license'], ['licensePublicKey']],
      given => licenceFault(given) === undefined,
      ({ input }) => licenceFault(input) ?? '',
    ),
    ['license'],
  ),
  v.forward(
    v.partialCheck(
      [['loginConcurrency'], ['drConcurrency'], ['accountConcurrency']],
      ({ loginConcurrency = 0, drConcurrency = {}, accountConcurrency }) =>
        Object.values(drConcurrency).reduce<number>((sum, one) => sum + (one ?? 0), loginConcurrency) <=
        accountConcurrency - UNRESERVED,
      `this setting and drConcurrency together must leave ${UNRESERVED} of accountConcurrency unreserved, because Lambda allows no less`,
    ),
    ['loginConcurrency'],
  ),
)

/** Settings as the user of a deployment writes them, before defaults are applied. */
export type SettingsInput = v.InferInput<typeof schema>

export type Settings = Omit<v.InferOutput<typeof schema>, 'clusterName'> & {
  clusterName: string
  /** link address of this cluster for other clusters of the set; undefined: the address of the API */
  linkAddress: string | undefined
}

/**
 * Reads, checks and completes the settings.
 * @throws SettingsError that names every fault
 */
export function readSettings(text: unknown): Settings {
  const given = addDefaultApiAddress(typeof text === 'string' ? parseSettings(text) : text)
  const read = v.safeParse(schema, given)
  const faults = (read.issues ?? []).map(
    issue => `${v.getDotPath(issue) ?? 'settings'}: ${describeSchemaFault(issue, settingsSchema)}`,
  )
  if (read.typed) {
    faults.push(...findFrontFaults(read.output, Object.keys(given as object)))
    const fault = findWebSettingFault(read.output)
    if (fault) faults.push(`webLogins: ${fault}`)
    faults.push(...findAccountSettingFaults(read.output))
  }
  if (!read.success || faults.length > 0) throw new SettingsError(faults)
  const { clusterName, stage, linkDomain } = read.output
  return {
    ...read.output,
    clusterName: clusterName ?? `cloud-auth-${stage}`,
    linkAddress: linkDomain && `https://${linkDomain.name}`,
  }
}
