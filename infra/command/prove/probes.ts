import { dataOf } from '../../../shared/set/status.ts'
import { isObject } from '../../../shared/values/json.ts'
import type { ApiRequestOptions, ApiResponse } from '../exchange.ts'
import type { ProveCloud } from './cloud.ts'
import { listOf, logInFromFunction, quantile, type Seen } from './logins.ts'
import { type Pace, pollDelay } from './pace.ts'
import { PROBE_ROLES } from './probe-stack.ts'
import type { ProvedRow } from './report.ts'

/** The cluster of a run, for its probes. */
export interface ProbedCluster {
  cloud: ProveCloud
  pace: Pace
  /** sends a request to the cluster, with the root token unless `asking` has a token */
  api(path: string, asking?: ApiRequestOptions): Promise<ApiResponse>
  /** base URL for the probe function */
  address: string
  probeFunction: string
  instance: string
  /** log groups: of the functions, and of audit entries */
  logs: string
  audit: string
  /** calls a regional STS endpoint with a signature over the global host. @returns the status */
  callStsForGlobalHost(): Promise<number>
}

/** Checks a claim on a cluster, or on a pair of clusters. */
export type Probe<Of = ProbedCluster> = (of: Of) => Promise<Seen>

const AUDIT_LIMIT_MS = 120_000
const INSTANCE_LIMIT_MS = 300_000
const SLOW_START_MS = 1000

/** Waits until a look finds something. @returns undefined after the limit */
async function poll<T>(
  pace: Pace,
  limitMs: number,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const end = pace.elapsed() + limitMs
  for (let tries = 0; ; tries++) {
    const found = await look()
    if (found !== undefined || pace.elapsed() > end) return found
    await pace.sleep(pollDelay(tries))
  }
}

/** Returns the start times in a function's log, in milliseconds. */
const readStartTimes = (messages: readonly string[]): number[] =>
  messages.flatMap(message => {
    const [, ms] = /"initDurationMs":\s*([\d.]+)/.exec(message) ?? []
    return ms === undefined ? [] : [Number(ms)]
  })

/** The claims that a run in one region checks, in this order. */
export const probes: Readonly<Record<string, Probe>> = {
  import: async () => ({
    held: true,
    note: 'CloudFormation created the stack `api`, which fails on warnings',
  }),
  wire: logInFromFunction,
  documents: async ({ api, pace, instance }) => {
    const found = await poll(pace, INSTANCE_LIMIT_MS, async () => {
      const { status } = await api(`auth/cloud/identity-accesslist/${instance}`)
      return status === 200 ? true : undefined
    })
    return {
      held: found === true,
      note: found
        ? 'a t4g.nano instance logged in with its RSA-2048 document'
        : `the instance did not log in within ${INSTANCE_LIMIT_MS / 1000} s`,
    }
  },
  signatures: async ({ api }) => {
    const answer = await api(`auth/cloud/role/${PROBE_ROLES.ec2}/explain`, { method: 'POST', body: {} })
    const signatures = listOf(dataOf(answer.body)['signatures'])
    const broken = signatures.filter(one => one['works_on_this_runtime'] !== true)
    const names = broken.map(one => `${one['documents']}`).join(', ')
    return {
      held: signatures.length > 0 && broken.length === 0,
      note:
        broken.length > 0
          ? `this runtime does not verify ${names}`
          : `the runtime verifies ${signatures.length} kinds of signatures`,
    }
  },
  'sts-host': async ({ callStsForGlobalHost }) => {
    const status = await callStsForGlobalHost()
    return { held: status === 200, note: `the regional endpoint answered ${status}` }
  },
  'batch-tokens': async ({ api }) => {
    const body = { type: 'batch', policies: ['default'], ttl: '10m' }
    const made = await api('auth/token/create', { method: 'POST', body })
    const auth = made.body['auth']
    const token = isObject(auth) && typeof auth['client_token'] === 'string' ? auth['client_token'] : ''
    if (token === '') return { held: false, note: `the cluster made no batch token (${made.status})` }
    const { status } = await api('auth/token/lookup-self', { token })
    return { held: status === 200, note: `a batch token’s look-up answered ${status}` }
  },
  list: async ({ api }) => {
    const { status } = await api('auth/cloud/roles', { method: 'LIST' })
    return { held: status >= 400, note: `LIST answered ${status}` }
  },
  paths: async ({ api }) => {
    const [first = '', rest] = [PROBE_ROLES.iam[0], PROBE_ROLES.iam.slice(1)]
    const code = first.charCodeAt(0).toString(16)
    const once = await api(`auth/cloud/role/%${code}${rest}`)
    const twice = await api(`auth/cloud/role/%25${code}${rest}`)
    return {
      held: once.status === 200 && twice.status === 404,
      note: `an encoded path answered ${once.status}, a path encoded twice ${twice.status}`,
    }
  },
  'audit-copy': async ({ api, cloud, pace, audit }) => {
    const { body } = await api('auth/token/lookup-self')
    const id = body['request_id']
    if (typeof id !== 'string' || !/^[\w-]+$/.test(id))
      return { held: false, note: 'the answer has no request id' }
    const found = await poll(pace, AUDIT_LIMIT_MS, async () => {
      const entries = await cloud.filterLog(audit, `"${id}"`)
      return entries.length >= 2 ? entries.length : undefined
    })
    return {
      held: found !== undefined,
      note: `the audit log has ${found ?? 'fewer than 2'} entries of a request`,
    }
  },
  'cold-start': async ({ cloud, logs }) => {
    const times = readStartTimes(await cloud.filterLog(logs, '{$.record.metrics.initDurationMs>0}')).sort(
      (a, b) => a - b,
    )
    if (times.length === 0) return { held: undefined, note: 'the log has no start of a function' }
    const slowest = times.at(-1) ?? 0
    return {
      held: slowest <= SLOW_START_MS,
      note: `the slowest of ${times.length} starts took ${slowest} ms`,
      measured: {
        'cold start, median': `${quantile(times, 0.5)} ms`,
        'cold start, slowest': `${slowest} ms`,
      },
    }
  },
  grants: async ({ cloud, logs }) => {
    const denied = await cloud.filterLog(logs, 'AccessDenied')
    return { held: denied.length === 0, note: `the log names ${denied.length} denied calls` }
  },
}

const WITH_PEER = 'needs a second region: --peer-region'
const TWO_REGIONS = 'needs a second region, and other settings than those of the released templates'
const OTHER_SETTINGS = 'needs other settings than those of the released templates'
const UNDER_LOAD = 'needs load'
const EACH_PLATFORM = 'needs a service of each platform'
const PUBLIC_ANSWER = 'needs a call outside the account, which a run does not make'
const FEDERATION = 'needs outbound federation, which a run does not switch on'

/** The claims that a run does not check, with the reasons. */
export const unaskedClaims: Readonly<Record<string, string>> = {
  'new-key': 'needs an access key of a user, which a run does not create',
  satellite: 'needs a second account',
  'ec2-rate': UNDER_LOAD,
  'instance-events': OTHER_SETTINGS,
  partitions: 'needs an account in another partition',
  'final-slash': OTHER_SETTINGS,
  'balancer-rules': OTHER_SETTINGS,
  truststore: OTHER_SETTINGS,
  'closed-address': OTHER_SETTINGS,
  'kept-connections': TWO_REGIONS,
  'shared-name': TWO_REGIONS,
  'inverted-check': TWO_REGIONS,
  distribution: OTHER_SETTINGS,
  'web-function': OTHER_SETTINGS,
  'bootstrap-key': OTHER_SETTINGS,
  console: 'needs a browser',
  canary: OTHER_SETTINGS,
  'key-policies': OTHER_SETTINGS,
  alias: OTHER_SETTINGS,
  'one-item': UNDER_LOAD,
  scan: UNDER_LOAD,
  restore: 'needs a backup, which a run does not make',
  prices: 'needs a bill',
  removal: 'a run has no deletion protection',
  pair: TWO_REGIONS,
  link: WITH_PEER,
  following: UNDER_LOAD,
  switch: WITH_PEER,
  drill: TWO_REGIONS,
  alarms: 'needs longer than a run',
  queries: 'is not part of a run',
  'prove-policy': 'needs credentials with this policy alone',
  platforms: EACH_PLATFORM,
  organizations: 'needs the management account of an organization',
  'instance-role': 'needs an instance',
  'pod-identity': 'needs an EKS cluster: --eks-cluster',
  'token-issuers': 'needs an account in another partition',
  'unknown-issuer': PUBLIC_ANSWER,
  'issuer-domain': PUBLIC_ANSWER,
  'issuer-keys': 'needs days, in which AWS replaces a key',
  'issuer-renewal': FEDERATION,
  'token-quota': UNDER_LOAD,
  'organization-path': 'needs an account in an organization',
  'session-claims': EACH_PLATFORM,
  'web-tokens': FEDERATION,
}

export interface ProbeResults {
  rows: ProvedRow[]
  measured: Record<string, string>
}

/**
 * Runs probes one after the other, and adds their rows to the results. A probe that fails is a broken row.
 * @param of what the probes check
 */
export async function runProbes<Of extends Pick<ProbedCluster, 'pace'>>(
  table: Readonly<Record<string, Probe<Of>>>,
  of: Of,
  { rows, measured }: ProbeResults,
  say: (text: string) => void,
): Promise<void> {
  for (const [id, probe] of Object.entries(table)) {
    of.pace.check()
    say(`checking ${id}`)
    const seen = await probe(of).catch((error: Error): Seen => {
      // a stopped run ends all probes
      of.pace.check()
      return { held: false, note: error.message }
    })
    const result = seen.held === undefined ? 'not asked' : seen.held ? 'held' : 'broken'
    rows.push({ id, result, note: seen.note })
    Object.assign(measured, seen.measured)
  }
}

/** Completes the rows by the claims that were not asked. */
export const completeRows = (rows: readonly ProvedRow[]): ProvedRow[] => [
  ...rows,
  ...Object.keys(probes)
    .filter(id => !rows.some(row => row.id === id))
    .map((id): ProvedRow => ({ id, result: 'not asked', note: 'the run stopped earlier' })),
  ...Object.entries(unaskedClaims)
    .filter(([id]) => !rows.some(row => row.id === id))
    .map(([id, note]): ProvedRow => ({ id, result: 'not asked', note })),
]
