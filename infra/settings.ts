import * as v from 'valibot'
import { readLicence } from '../shared/api/licence.ts'
import { accountFields, findAccountFaults } from './account-settings.ts'
import { readAuthorities } from './build/authorities.ts'
import { functionNames } from './checkout.ts'
import { addDefaultAddress, findFrontFaults, frontFields } from './front-settings.ts'
import { faultIn, parseSettings, SettingsError } from './settings-fault.ts'
import { findWebFault, webFields } from './web-settings.ts'

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
const megabytes = v.pipe(wholeNumber, v.minValue(256), v.maxValue(10_240))

const unknownFunctions = (given: object): string[] => {
  const known = functionNames()
  return Object.keys(given).filter(name => !known.includes(name))
}

const ROLE_PATTERN = /^arn:(?:\*|aws[a-z-]*):iam::(?:\*|\d{12}):role\/[\w+=,.@/*-]+$/

const tableName = v.pipe(
  v.string(),
  v.regex(/^[\w.-]{3,255}$/, 'must be the name of a table: 3 to 255 letters, digits, "_", "." or "-"'),
)

const isAddress = (text: string): boolean =>
  text.startsWith('https://') && URL.canParse(text) && new URL(text).origin === text

/** What `sha256sum` makes of nothing, and of an empty line. */
const HASHES_OF_LITTLE = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b',
]
const isHashOfLittle = (hash: string): boolean => HASHES_OF_LITTLE.includes(hash.toLowerCase())

const FINGERPRINT = /^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/
// what the environment of a Lambda has room for
const MOST_KEYS = 40

/** Why the certificates in a folder cannot be shipped. */
function authoritiesFault(folder: string): string | undefined {
  try {
    readAuthorities(folder)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * Settings of one deployment: the object `settings` of cdk.json's context, or `-c settings='{…}'`.
 * Unknown names are refused, and all faults are reported together.
 */
export const settingsSchema = v.strictObject({
  /** distinguishes deployments in one account; part of every stack's name */
  stage: v.pipe(
    v.string(),
    v.regex(/^[a-z][a-z0-9-]{0,19}$/, 'must be lower-case letters, digits and dashes'),
  ),
  /** name of the cluster as health and status show it; default `cloud-auth-<stage>` */
  clusterName: v.optional(
    v.pipe(v.string(), v.regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')),
  ),
  /** tables and key are kept when a stack is deleted, and cannot be deleted by mistake */
  deletionProtection: v.optional(v.boolean(), true),
  /** tables, and a key, that stand in for those of the data stack: what a restore has made */
  restored: v.optional(
    v.strictObject({
      dataTable: tableName,
      clusterTable: tableName,
      /** of the stream that was switched on for it; without it a schedule wakes who keeps the journal, once a minute */
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
  /** logs of functions and access log */
  logRetentionDays: days(30),
  /** the audit log */
  auditRetentionDays: days(365),
  /** trust the built-in DSA and RSA-1024 certificates, and SHA-1 */
  legacySignatures: v.optional(v.boolean(), false),
  /** roles of satellite accounts that this deployment may assume */
  assumableRoleArns: v.optional(
    v.array(v.pipe(v.string(), v.regex(ROLE_PATTERN, 'must be a role ARN, with "*" where it may vary'))),
    ['arn:*:iam::*:role/cloud-auth-*'],
  ),
  /**
   * fingerprints of the OpenPGP keys of those who shall hold recovery shares: initialisation then takes exactly
   * these keys, so that who invokes it reads neither a share nor the root token
   */
  initPgpKeys: v.optional(
    v.pipe(
      v.array(
        v.pipe(v.string(), v.regex(FINGERPRINT, 'must be 40 or 64 hexadecimal digits'), v.toLowerCase()),
      ),
      v.minLength(1, 'must name a key, or be left out'),
      v.maxLength(MOST_KEYS, `must name at most ${MOST_KEYS} keys`),
      v.check(keys => new Set(keys).size === keys.length, 'must name each key once'),
    ),
  ),
  /**
   * starting and cancelling an attempt to make a DR operation token, or another recovery key, needs a token whose
   * policies allow it, or a direct invocation of its function; otherwise anybody may start, and cancel what has no share
   */
  strictCeremony: v.optional(v.boolean(), true),
  /**
   * sys/health is 503, and not 200, while KMS does not open the keyring of a cluster that serves: environments that have
   * opened it go on, and every new one fails
   */
  healthChecksKeyring: v.optional(v.boolean(), false),
  /**
   * which client makes the calls to the tables that are hot: those of logins, renewals, token checks, the follower and of
   * all commits. `wire` is ours, and takes half of the processor time; the others are made by AWS's SDK
   */
  tablesClient: v.optional(v.picklist(['wire', 'sdk']), 'wire'),
  ...frontFields,
  /** address of the API when it has a domain of its own; default: that of `domain`, else the one that API Gateway gives */
  apiAddress: v.optional(
    v.pipe(v.string(), v.check(isAddress, 'must be "https://" and a host: no path, and no slash at the end')),
  ),
  /** deploys although API Gateway warns of the definition of an API that it imports; otherwise the deployment fails */
  passImportWarnings: v.optional(v.boolean(), false),
  /** closes the address that API Gateway gives, so that only `apiAddress` is left */
  closeDefaultEndpoint: v.optional(v.boolean(), false),
  /**
   * what stands before the API, so that its address is the one that everybody calls: `secretHashes` are the SHA-256
   * of the secret in its header `X-Origin-Secret` (of two while they change), `hops` how many proxies append to
   * X-Forwarded-For the address that calls them
   */
  proxy: v.optional(
    v.strictObject({
      secretHashes: v.pipe(
        v.array(
          v.pipe(
            v.string(),
            v.regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256, 64 hexadecimal digits'),
            v.check(hash => !isHashOfLittle(hash), 'must be the hash of a secret, and not of an empty text'),
            v.toLowerCase(),
          ),
        ),
        v.minLength(1, 'must have the hash of a secret'),
        v.maxLength(
          2,
          'must have two hashes at most: of the present secret, and of the one before or after it',
        ),
      ),
      hops: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(9)), 1),
    }),
  ),
  /** version of the API that health and seal-status report, and by which clients switch their features */
  apiVersion: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,4}\.\d{1,4}\.\d{1,4}$/, 'must be three numbers, such as 1.19.5')),
    '1.19.5',
  ),
  /** the licence, which DR replication needs: a JWT */
  license: v.optional(v.pipe(v.string(), v.maxLength(1536, 'must have 1,536 characters at most'))),
  /** public key of its signer: Ed25519, DER as base64 */
  licensePublicKey: v.optional(v.string()),
  /**
   * folder with certificates of authorities, PEM, that may vouch for other clusters of a DR set: who makes a cluster a
   * secondary names them by `ca_file` or `ca_path`
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
   * a planned switch to another cluster of the set, and back, on a schedule: when (EventBridge's `rate(…)` or `cron(…)`),
   * the other cluster's address, and the name of the policy that an administrator has written for it
   */
  drill: v.optional(
    v.strictObject({
      schedule: v.pipe(v.string(), v.regex(/^(?:rate|cron)\(.+\)$/, 'must be "rate(…)" or "cron(…)"')),
      peer: v.pipe(
        v.string(),
        v.check(isAddress, 'must be "https://" and a host: no path, and no slash at the end'),
      ),
      policy: v.pipe(
        v.string(),
        v.regex(
          /^(?!root$|default$)[a-z0-9][a-z0-9._-]{0,127}$/,
          'must be the name of a policy, and not "root" or "default"',
        ),
      ),
    }),
  ),
  /**
   * the console page, which the API then serves at `/ui/`; `peer`: the address of the other cluster, which the page asks for
   * its health and status
   */
  console: v.optional(
    v.strictObject({
      peer: v.optional(
        v.pipe(
          v.string(),
          v.check(isAddress, 'must be "https://" and a host: no path, and no slash at the end'),
        ),
      ),
    }),
  ),
  /** where the other cluster has its console page: that page may read `sys/health` and the status of replication, nothing else */
  consoleOrigin: v.optional(
    v.pipe(v.string(), v.check(isAddress, 'must be "https://" and a host: no path, and no slash at the end')),
  ),
  /** what alarms notify: ARNs of SNS topics, say; none: alarms only change their state */
  alarmActionArns: v.optional(v.array(v.pipe(v.string(), v.startsWith('arn:', 'must be an ARN'))), []),
  /** Lambda traces requests: what X-Ray takes for it is paid for by the trace */
  tracing: v.optional(v.boolean(), false),
  /** a dashboard of the metrics, and of AWS's own beside them */
  dashboard: v.optional(v.boolean(), false),
  /** requests per second, and burst, of everybody together: a bound of what strangers can make this cost */
  throttle: v.optional(v.strictObject({ rate: wholeNumber, burst: wholeNumber }), { rate: 500, burst: 1000 }),
  /** the same for other clusters of a DR set, whose way to this one has a throttle of its own */
  linkThrottle: v.optional(v.strictObject({ rate: wholeNumber, burst: wholeNumber }), {
    rate: 100,
    burst: 200,
  }),
  /** the same for probes of `sys/health` */
  healthThrottle: v.optional(v.strictObject({ rate: wholeNumber, burst: wholeNumber }), {
    rate: 50,
    burst: 100,
  }),
  /** environments kept free for logins, so that nothing else can starve them */
  loginConcurrency: v.optional(wholeNumber),
  /** environments of the login function that are started before anybody asks, and paid for all the time */
  loginProvisionedConcurrency: v.optional(wholeNumber),
  ...webFields,
  ...accountFields,
  /**
   * environments kept free for the functions of DR replication, so that strangers who fill all others cannot stop it:
   * at least as many as run beside each other when all is well
   */
  drConcurrency: v.optional(
    v.strictObject({
      link: v.optional(v.pipe(wholeNumber, v.minValue(5))),
      'on-pull': v.optional(v.pipe(wholeNumber, v.minValue(3))),
      'on-journal': v.optional(v.pipe(wholeNumber, v.minValue(3))),
      'on-operation': v.optional(v.pipe(wholeNumber, v.minValue(2))),
    }),
  ),
  /** environments that the account may have at once in this region; Lambda keeps 100 of them unreserved */
  accountConcurrency: v.optional(wholeNumber, 1000),
  /** memory of functions, MB; processor time grows with it */
  memory: v.optional(megabytes, 1024),
  /** the same for some of them, by their folders in functions/; default: what the table of workers says, or `memory` */
  functionMemory: v.optional(
    v.pipe(
      v.record(v.string(), megabytes),
      v.check(
        given => unknownFunctions(given).length === 0,
        ({ input }) => `must name functions, and not ${unknownFunctions(input).join(', ')}`,
      ),
    ),
    {},
  ),
})

/** Environments of an account that functions may not reserve. */
const UNRESERVED = 100

/** Why a licence cannot be read; one that has ended can be. */
function licenceFault(given: { license?: string | undefined; licensePublicKey?: string | undefined }) {
  const { license: text = '', licensePublicKey: publicKey = '' } = given
  if (text === '' && publicKey === '') return undefined
  const read = readLicence({ text, publicKey })
  return read.ok ? undefined : read.fault
}

/** What one setting says about another. */
const schema = v.pipe(
  settingsSchema,
  v.forward(
    v.partialCheck(
      [['closeDefaultEndpoint'], ['apiAddress']],
      ({ closeDefaultEndpoint, apiAddress }) => !closeDefaultEndpoint || apiAddress !== undefined,
      'needs apiAddress: without one nobody could reach the API',
    ),
    ['closeDefaultEndpoint'],
  ),
  v.forward(
    v.partialCheck(
      [['proxy'], ['apiAddress']],
      ({ proxy, apiAddress }) => !proxy || apiAddress !== undefined,
      'needs apiAddress, the address of the proxy: others of a set are told it, and the address that API Gateway gives refuses them',
    ),
    ['proxy'],
  ),
  v.forward(
    v.partialCheck(
      [['loginProvisionedConcurrency'], ['loginConcurrency'], ['accountConcurrency']],
      ({ loginProvisionedConcurrency: provisioned = 0, loginConcurrency, accountConcurrency }) =>
        provisioned <= (loginConcurrency ?? accountConcurrency - UNRESERVED),
      `must not be more than loginConcurrency, and without it leave ${UNRESERVED} of accountConcurrency: Lambda refuses more`,
    ),
    ['loginProvisionedConcurrency'],
  ),
  v.forward(
    v.partialCheck(
      [['drill'], ['apiAddress']],
      ({ drill, apiAddress }) => !drill || (apiAddress !== undefined && apiAddress !== drill.peer),
      'needs apiAddress, and another one as its peer: a drill asks both clusters by their addresses',
    ),
    ['drill'],
  ),
  v.forward(
    v.partialCheck(
      [['restored']],
      ({ restored }) => !restored || restored.dataTable !== restored.clusterTable,
      'must be two tables',
    ),
    ['restored'],
  ),
  v.forward(
    v.partialCheck(
      [['restored']],
      ({ restored: { clusterStreamArn: stream, clusterTable } = { clusterTable: '' } }) =>
        stream === undefined || stream.includes(`:table/${clusterTable}/stream/`),
      'clusterStreamArn must be that of a stream of clusterTable',
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
      `and drConcurrency together must leave ${UNRESERVED} of accountConcurrency unreserved: Lambda refuses more`,
    ),
    ['loginConcurrency'],
  ),
)

/** Settings as they are given. */
export type SettingsInput = v.InferInput<typeof schema>

export type Settings = Omit<v.InferOutput<typeof schema>, 'clusterName'> & {
  clusterName: string
  /** where other clusters of a set reach this one, if not at the address of the API */
  linkAddress: string | undefined
}

/** @throws SettingsError naming every fault */
export function readSettings(text: unknown): Settings {
  const given = addDefaultAddress(typeof text === 'string' ? parseSettings(text) : text)
  const read = v.safeParse(schema, given)
  const faults = (read.issues ?? []).map(
    issue => `${v.getDotPath(issue) ?? 'settings'}: ${faultIn(issue, settingsSchema)}`,
  )
  if (read.typed) {
    faults.push(...findFrontFaults(read.output, Object.keys(given as object)))
    const fault = findWebFault(read.output)
    if (fault) faults.push(`webLogins: ${fault}`)
    faults.push(...findAccountFaults(read.output))
  }
  if (!read.success || faults.length > 0) throw new SettingsError(faults)
  const { clusterName, stage, linkDomain } = read.output
  return {
    ...read.output,
    clusterName: clusterName ?? `cloud-auth-${stage}`,
    linkAddress: linkDomain && `https://${linkDomain.name}`,
  }
}
