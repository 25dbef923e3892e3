import { isObject } from '../../../shared/values/json.ts'
import { requestUntilAccepted } from '../ask.ts'
import { CommandEnded } from '../ended.ts'
import type { ApiRequestOptions, ApiResponse } from '../exchange.ts'
import type { FoundStack, ProveCloud, WantedStack } from './cloud.ts'
import type { ProveJournal } from './journal.ts'
import { type ProvePart, proveParts, RUN_TAG, stackNameInRun } from './names.ts'
import type { Pace } from './pace.ts'
import { buildProbeTemplate, PROBE_ROLES } from './probe-stack.ts'
import { type ProbedCluster, type ProbeResults, runProbes } from './probes.ts'
import type { ReleaseFiles } from './release-files.ts'
import { pollDelay } from './teardown.ts'
import { buildAssetsTemplate, prepareTemplate } from './templates.ts'

/** The release that a run proves, and the place. */
export interface ProveSettings {
  run: string
  region: string
  account: string
  /** subnet of the instance; undefined: the default VPC */
  subnet: string | undefined
  release: ReleaseFiles
}

export interface ProvePorts {
  cloud: ProveCloud
  journal: ProveJournal
  pace: Pace
  say(text: string): void
  /** sends a request to a cluster */
  request(base: string, path: string, asking: ApiRequestOptions): Promise<ApiResponse>
  /** returns the address at which the base URL of an API is reached */
  reach(address: string): string
  callStsForGlobalHost(): Promise<number>
}

const STACK_LIMIT_MS = 20 * 60_000
const REQUEST_LIMIT_MS = 120_000
const PREFIX = 'cloud-auth/'

/** @throws CommandEnded if a stack has the name of one of the run's stacks */
export async function refuseExistingStacks(run: string, cloud: ProveCloud): Promise<void> {
  for (const part of proveParts) {
    const name = stackNameInRun(run, part)
    if (await cloud.findStack(name))
      throw new CommandEnded(
        'refused',
        `the stack ${name} exists already. Nothing was made; start the command again`,
      )
  }
}

/** Makes a stack, which the journal names first, and waits until the stack is complete. @returns its outputs */
async function makeStack(
  part: ProvePart,
  { run }: ProveSettings,
  { cloud, journal, pace, say }: ProvePorts,
  wanted: Pick<WantedStack, 'template' | 'parameters'>,
): Promise<FoundStack['outputs']> {
  pace.check()
  const name = stackNameInRun(run, part)
  journal.makes(part)
  say(`creating ${name}`)
  await cloud.createStack({ name, tags: { [RUN_TAG]: run }, ...wanted })
  const end = pace.elapsed() + STACK_LIMIT_MS
  for (let tries = 0; ; tries++) {
    const found = await cloud.findStack(name)
    if (found?.status === 'CREATE_COMPLETE') return found.outputs
    const isMaking = found?.status === 'CREATE_IN_PROGRESS' || found?.status === 'REVIEW_IN_PROGRESS'
    if (!isMaking || pace.elapsed() > end) {
      const why = (await cloud.findStackFailure(name).catch(() => undefined)) ?? found?.status ?? 'it is gone'
      throw new Error(`the stack ${name} was not created: ${why}`)
    }
    await pace.sleep(pollDelay(tries))
  }
}

/** Uploads the release to the run's bucket. */
async function uploadRelease(
  bucket: string,
  { run, release }: ProveSettings,
  { cloud, pace, say }: ProvePorts,
) {
  say(`uploading ${release.assets.length + 3} files to ${bucket}`)
  for (const [part, text] of Object.entries(release.templates))
    await cloud.putObject(bucket, `${part}.json`, Buffer.from(prepareTemplate(text, run)))
  for (const { name, bytes } of release.assets) {
    pace.check()
    await cloud.putObject(bucket, `${PREFIX}${name}`, bytes)
  }
}

const textIn = (object: Readonly<Record<string, unknown>>, name: string): string => {
  const value = object[name]
  if (typeof value !== 'string' || value === '') throw new Error(`an answer has no ${name}`)
  return value
}

/** Initialises the cluster by an invocation. @returns the root token */
async function initialise(initFunction: string, cloud: ProveCloud): Promise<string> {
  const answer = await cloud.invokeFunction(initFunction, {
    version: '2.0',
    rawPath: '/v1/sys/init',
    requestContext: { http: { method: 'PUT' } },
    body: JSON.stringify({ recovery_shares: 1, recovery_threshold: 1 }),
  })
  const { statusCode, body } = isObject(answer) ? answer : {}
  const read: unknown = statusCode === 200 && typeof body === 'string' ? JSON.parse(body) : undefined
  if (!isObject(read)) throw new Error(`the cluster was not initialised (status ${String(statusCode)})`)
  return textIn(read, 'root_token')
}

/** Finds a log group of the stack `api` by the construct's name. */
const findLogGroup = async (cloud: ProveCloud, run: string, construct: string): Promise<string> => {
  const resources = await cloud.listStackResources(stackNameInRun(run, 'api'))
  const group = resources.find(
    one => one.type === 'AWS::Logs::LogGroup' && new RegExp(`^${construct}[0-9A-F]{8}$`).test(one.logicalId),
  )
  if (group === undefined) throw new Error(`the stack api has no log group ${construct}`)
  return group.physicalId
}

/** Makes the roles for the logins of the probes. */
async function createProbeRoles(
  { run, account, region }: ProveSettings,
  write: (path: string, body: object) => Promise<unknown>,
): Promise<void> {
  const partition = region.startsWith('cn-') ? 'aws-cn' : region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'
  await write(`auth/cloud/role/${PROBE_ROLES.iam}`, {
    auth_type: 'iam',
    bound_iam_principal_arn: [`arn:${partition}:iam::${account}:role/${stackNameInRun(run, 'probe')}-*`],
    resolve_aws_unique_ids: false,
    token_ttl: '10m',
  })
  await write(`auth/cloud/role/${PROBE_ROLES.ec2}`, {
    auth_type: 'ec2',
    bound_account_id: [account],
    bound_region: [region],
    token_ttl: '10m',
  })
}

/** Waits until an API answers, because a new name needs some time in DNS. */
async function awaitAnswer(pace: Pace, ask: () => Promise<ApiResponse>): Promise<void> {
  const end = pace.elapsed() + REQUEST_LIMIT_MS
  for (let tries = 0; ; tries++)
    try {
      await ask()
      return
    } catch (error) {
      if (!(error instanceof CommandEnded) || pace.elapsed() > end) throw error
      await pace.sleep(pollDelay(tries))
    }
}

/**
 * Makes the stacks, starts the cluster and runs the probes.
 * @param results receives rows and measurements as they come, so that a stopped run keeps them
 * @throws RunEnded if a signal, the time or the price stops the run; Error if a step fails
 */
export async function runProof(
  settings: ProveSettings,
  ports: ProvePorts,
  results: ProbeResults,
): Promise<void> {
  const { run, subnet } = settings
  const { cloud, pace, say, request, reach } = ports
  const make = (
    part: ProvePart,
    template: WantedStack['template'],
    parameters: Record<string, string> = {},
  ) => makeStack(part, settings, ports, { template, parameters })

  const bucket = textIn(await make('assets', buildAssetsTemplate()), 'Bucket')
  await uploadRelease(bucket, settings, ports)
  const ofFunctions = { AssetsBucket: bucket, AssetsPrefix: PREFIX }
  const released = (part: 'data' | 'api' | 'workers') => ({ bucket, key: `${part}.json` })
  await make('data', released('data'))
  const { Address = '', InitFunction = '' } = await make('api', released('api'), ofFunctions)
  await make('workers', released('workers'), ofFunctions)

  const root = await initialise(InitFunction, cloud)
  const address = reach(Address)
  const api = (path: string, asking: ApiRequestOptions = {}) =>
    request(address, path, { token: root, ...asking })
  await awaitAnswer(pace, () => api('sys/health'))
  const write = (path: string, body: object) =>
    requestUntilAccepted(() => api(path, { method: 'POST', body }), {
      timeoutMs: REQUEST_LIMIT_MS,
      say,
      label: path,
    })
  await createProbeRoles(settings, write)

  const place: Record<string, string> =
    subnet === undefined ? {} : { Subnet: subnet, Vpc: await cloud.findVpc(subnet) }
  const probe = await make('probe', buildProbeTemplate(subnet), { Address: address, ...place })
  const cluster: ProbedCluster = {
    cloud,
    pace,
    api,
    address,
    probeFunction: textIn(probe, 'Function'),
    instance: textIn(probe, 'Instance'),
    logs: await findLogGroup(cloud, run, 'Logs'),
    audit: await findLogGroup(cloud, run, 'Audit'),
    callStsForGlobalHost: ports.callStsForGlobalHost,
  }
  await runProbes(cluster, results, say)
}
