import { partitionOfRegion } from '../../../shared/values/region.ts'
import { createLocalLicence } from '../../local/lambda/licence.ts'
import { requestUntilAccepted } from '../ask.ts'
import type { ApiConnection } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import type { ApiRequestOptions, ApiResponse } from '../exchange.ts'
import type { FoundStack, ProveCloud, WantedStack } from './cloud.ts'
import { invokeApi, textIn } from './cluster-api.ts'
import type { PlacedRun, ProveJournal } from './journal.ts'
import type { KubernetesAccess } from './kubernetes.ts'
import { logInFromFunction } from './logins.ts'
import { type ProveItem, type ProvePart, peerParts, proveParts, RUN_TAG, stackNameInRun } from './names.ts'
import { type Pace, pollDelay } from './pace.ts'
import { type PairedCluster, type ProvedPair, pairProbes, startSchedules } from './pair.ts'
import { type ProvedPod, podProbes } from './pod.ts'
import { buildPodTemplate, buildProbeTemplate, PROBE_ROLES } from './probe-stack.ts'
import { type ProbedCluster, type ProbeResults, probes, runProbes } from './probes.ts'
import type { ReleaseFiles } from './release-files.ts'
import { buildAssetsTemplate, prepareTemplate } from './templates.ts'

/** The release that a run proves, and the place. */
export interface ProveSettings extends PlacedRun {
  /** subnet of the instance; undefined: the default VPC */
  subnet: string | undefined
  /** the release whose stacks the run makes, or the root token of the cluster whose stacks an earlier process made */
  source: { kind: 'release'; release: ReleaseFiles } | { kind: 'kept'; root: string }
}

export interface ProvePorts {
  /** the account in the region of a stack */
  cloudOf(part: ProvePart): ProveCloud
  connection: ApiConnection
  journal: ProveJournal
  pace: Pace
  say(text: string): void
  /** sends a request to a cluster */
  request(base: string, path: string, asking: ApiRequestOptions): Promise<ApiResponse>
  /** returns the address at which the base URL of an API is reached */
  reach(address: string): string
  /** returns the address at which the other cluster reaches an API */
  linkTo(address: string): string
  callStsForGlobalHost(): Promise<number>
  /** deletes what the run made. @throws Error for an item that is left */
  remove(items: readonly ProveItem[]): Promise<void>
  findKubernetes(): Promise<KubernetesAccess | undefined>
  /** receives the root token of the first cluster */
  initialised(root: string): void
}

const STACK_LIMIT_MS = 20 * 60_000
const REQUEST_LIMIT_MS = 120_000
const PREFIX = 'cloud-auth/'

/** @throws CommandEnded if a stack has the name of one of the run's stacks */
export async function refuseExistingStacks(
  run: string,
  parts: readonly ProvePart[],
  cloudOf: ProvePorts['cloudOf'],
): Promise<void> {
  for (const part of parts) {
    const name = stackNameInRun(run, part)
    if (await cloudOf(part).findStack(name))
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
  { cloudOf, journal, pace, say }: ProvePorts,
  wanted: Pick<WantedStack, 'template' | 'parameters'>,
): Promise<FoundStack['outputs']> {
  pace.check()
  const cloud = cloudOf(part)
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

/** Uploads the release to the bucket of a cluster. */
async function uploadRelease(
  bucket: string,
  isPeer: boolean,
  { run, source }: ProveSettings,
  { cloudOf, pace, say }: ProvePorts,
) {
  if (source.kind !== 'release') throw new Error('a resumed run makes no stacks')
  const { release } = source
  const cloud = cloudOf(isPeer ? 'peer-assets' : 'assets')
  say(`uploading ${release.assets.length + 3} files to ${bucket}`)
  for (const [part, text] of Object.entries(release.templates))
    await cloud.putObject(bucket, `${part}.json`, Buffer.from(prepareTemplate(text, run, isPeer)))
  for (const { name, bytes } of release.assets) {
    pace.check()
    await cloud.putObject(bucket, `${PREFIX}${name}`, bytes)
  }
}

/** Finds a resource of a stack by its type and the construct's name. */
const findResource = async (
  { cloudOf }: ProvePorts,
  run: string,
  part: ProvePart,
  [type, construct]: readonly [string, string],
): Promise<string> => {
  const resources = await cloudOf(part).listStackResources(stackNameInRun(run, part))
  const found = resources.find(
    one => one.type === type && new RegExp(`^${construct}[0-9A-F]{8}$`).test(one.logicalId),
  )
  if (found === undefined) throw new Error(`the stack ${part} has no ${construct} (${type})`)
  return found.physicalId
}

/** Returns the ARN of the roles of a stack. */
const arnOfRoles = ({ run, account, region }: ProveSettings, part: ProvePart): string =>
  `arn:${partitionOfRegion(region) ?? 'aws'}:iam::${account}:role/${stackNameInRun(run, part)}-*`

/** Makes the roles for the logins of the probes. */
async function createProbeRoles(
  settings: ProveSettings,
  write: (path: string, body: object) => Promise<unknown>,
): Promise<void> {
  const { account, region, eksCluster } = settings
  const writeIamRole = (role: string, part: ProvePart) =>
    write(`auth/cloud/role/${role}`, {
      auth_type: 'iam',
      bound_iam_principal_arn: [arnOfRoles(settings, part)],
      resolve_aws_unique_ids: false,
      token_ttl: '10m',
    })
  await writeIamRole(PROBE_ROLES.iam, 'probe')
  if (eksCluster !== undefined) await writeIamRole(PROBE_ROLES.pod, 'pod')
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
 * Makes the stacks of a cluster, and initialises the cluster.
 * @param licence parameters of the templates; empty for a cluster without replication
 */
async function startCluster(
  isPeer: boolean,
  licence: Readonly<Record<string, string>>,
  settings: ProveSettings,
  ports: ProvePorts,
): Promise<PairedCluster> {
  const { run, region, peerRegion } = settings
  const { cloudOf, pace, request, reach, linkTo } = ports
  const [assets, data, api, workers] = isPeer ? peerParts : proveParts
  const bucket = textIn(
    await makeStack(assets, settings, ports, { template: buildAssetsTemplate(), parameters: {} }),
    'Bucket',
  )
  await uploadRelease(bucket, isPeer, settings, ports)
  const make = (part: ProvePart, key: string, parameters: Readonly<Record<string, string>>) =>
    makeStack(part, settings, ports, { template: { bucket, key }, parameters })
  const ofFunctions = { AssetsBucket: bucket, AssetsPrefix: PREFIX, ...licence }
  await make(data, 'data.json', {})
  const outputs = await make(api, 'api.json', ofFunctions)
  await make(workers, 'workers.json', ofFunctions)
  const cloud = cloudOf(api)
  const begin = ['PUT', 'sys/init'] as const
  const init = await invokeApi(cloud, textIn(outputs, 'InitFunction'), begin, {
    recovery_shares: 1,
    recovery_threshold: 1,
  })
  const address = textIn(outputs, 'Address')
  const base = reach(address)
  await awaitAnswer(pace, () => request(base, 'sys/health', {}))
  const [share] = Array.isArray(init['recovery_keys']) ? init['recovery_keys'] : []
  const functionOf = (construct: string) =>
    findResource(ports, run, workers, ['AWS::Lambda::Function', `${construct}Function`])
  return {
    name: isPeer ? (peerRegion ?? '') : region,
    cloud,
    base,
    linkAddress: linkTo(address),
    rootToken: textIn(init, 'root_token'),
    share: String(share),
    ceremonyFunction: textIn(outputs, 'CeremonyFunction'),
    scheduled: { pull: await functionOf('onpull'), journal: await functionOf('onjournal') },
  }
}

/** Returns the outputs of a complete stack of the run. @throws Error if the run has no such stack */
async function readOutputs(
  part: ProvePart,
  { run }: ProveSettings,
  { cloudOf }: ProvePorts,
): Promise<FoundStack['outputs']> {
  const name = stackNameInRun(run, part)
  const found = await cloudOf(part).findStack(name)
  if (found?.status !== 'CREATE_COMPLETE' || found.tags[RUN_TAG] !== run)
    throw new Error(`the stack ${name} of the run is missing or incomplete`)
  return found.outputs
}

/** Makes the roles and the stack of the probes. @returns the outputs of the stack */
async function startProbes(
  { base, rootToken, cloud }: PairedCluster,
  settings: ProveSettings,
  ports: ProvePorts,
): Promise<FoundStack['outputs']> {
  const { subnet } = settings
  const write = (path: string, body: object) =>
    requestUntilAccepted(() => ports.request(base, path, { token: rootToken, method: 'POST', body }), {
      timeoutMs: REQUEST_LIMIT_MS,
      say: ports.say,
      label: path,
    })
  await createProbeRoles(settings, write)
  const place: Record<string, string> =
    subnet === undefined ? {} : { Subnet: subnet, Vpc: await cloud.findVpc(subnet) }
  return makeStack('probe', settings, ports, {
    template: buildProbeTemplate(subnet),
    parameters: { Address: base, ...place },
  })
}

/** The first cluster of a run, with its probes. */
interface OpenedCluster {
  address: string
  root: string
  /** outputs of the stack `probe` */
  probe: FoundStack['outputs']
  /** absent: an earlier process made the cluster */
  made?: PairedCluster
}

/** Makes the first cluster of a run, or finds the cluster that an earlier process made. */
async function openCluster(
  licence: Readonly<Record<string, string>>,
  settings: ProveSettings,
  ports: ProvePorts,
): Promise<OpenedCluster> {
  const { source } = settings
  if (source.kind === 'kept') {
    const { Address } = await readOutputs('api', settings, ports)
    const probe = await readOutputs('probe', settings, ports)
    return { address: ports.reach(Address ?? ''), root: source.root, probe }
  }
  const made = await startCluster(false, licence, settings, ports)
  ports.initialised(made.rootToken)
  const probe = await startProbes(made, settings, ports)
  return { address: made.base, root: made.rootToken, probe, made }
}

/** Creates what the probe of an EKS cluster needs. @param address base URL of the run's cluster */
const createProvedPod = (
  address: string,
  eksCluster: string,
  settings: ProveSettings,
  ports: ProvePorts,
): ProvedPod => ({
  ...ports,
  run: settings.run,
  address,
  openStack: () =>
    settings.source.kind === 'kept'
      ? readOutputs('pod', settings, ports)
      : makeStack('pod', settings, ports, {
          template: buildPodTemplate(settings.run, eksCluster),
          parameters: {},
        }),
  openKubernetes: async () => {
    const access = await ports.findKubernetes()
    if (access === undefined) throw new Error(`the EKS cluster ${eksCluster} does not exist any more`)
    return access
  },
  removeNamespace: () => ports.remove(['namespace']),
})

/**
 * Makes the stacks and starts the cluster, unless they exist, and runs the probes. In two regions, also starts the other
 * cluster, and runs the probes of a pair. With an EKS cluster, also runs the probe of a pod.
 * @param results receives rows and measurements as they come, so that a stopped run keeps them
 * @throws RunEnded if a signal, the time or the price stops the run; Error if a step fails
 */
export async function runProof(
  settings: ProveSettings,
  ports: ProvePorts,
  results: ProbeResults,
): Promise<void> {
  const { run, peerRegion, eksCluster } = settings
  const { pace, say, request, connection } = ports
  const licence = peerRegion === undefined ? {} : createLicence()
  const { address, root: token, probe, made } = await openCluster(licence, settings, ports)
  const api = (path: string, asking: ApiRequestOptions = {}) => request(address, path, { token, ...asking })
  const logGroup = (construct: string) => findResource(ports, run, 'api', ['AWS::Logs::LogGroup', construct])
  const cluster: ProbedCluster = {
    cloud: ports.cloudOf('api'),
    pace,
    api,
    address,
    probeFunction: textIn(probe, 'Function'),
    instance: textIn(probe, 'Instance'),
    logs: await logGroup('Logs'),
    audit: await logGroup('Audit'),
    callStsForGlobalHost: ports.callStsForGlobalHost,
  }
  await runProbes(probes, cluster, results, say)
  if (eksCluster !== undefined)
    await runProbes(podProbes, createProvedPod(address, eksCluster, settings, ports), results, say)
  if (peerRegion === undefined || made === undefined) return
  const pair: ProvedPair = {
    first: made,
    peer: await startCluster(true, licence, settings, ports),
    connection,
    pace,
    principal: arnOfRoles(settings, 'probe'),
    say,
    logIn: async ({ name, base }) => {
      const { held } = await logInFromFunction({ ...cluster, address: base })
      if (!held) throw new Error(`not all logins to the cluster in ${name} got a token`)
    },
    losePeer: () => ports.remove(['peer-workers', 'peer-api']),
  }
  const endSchedules = startSchedules(pair)
  try {
    await runProbes(pairProbes, pair, results, say)
  } finally {
    endSchedules()
  }
}

/** Creates the licence of a run in two regions, as parameters of the templates. */
function createLicence(): Readonly<Record<string, string>> {
  const { LICENSE: License, LICENSE_PUBLIC_KEY: LicensePublicKey } = createLocalLicence('prove', Date.now())
  return { License, LicensePublicKey }
}
