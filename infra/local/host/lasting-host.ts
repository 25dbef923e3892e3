import { defined } from '../../../shared/values/defined.ts'
import { clusterDirectory, readTextFile, writeAtomically } from '../os/cluster-file.ts'
import { findSteadyPort, freeOrAny } from '../os/loopback.ts'
import { HOME } from '../provider/home.ts'
import { startAwsProcess, useAwsAt } from './aws-process.ts'
import { type Host, type HostOptions, startHost } from './host.ts'

/** Ports, region and imitated AWS of a cluster. Missing values are taken from the last start. */
export interface ClusterPlace {
  /** 0: any port, preferably that of the last start; the same for all ports here */
  port: number
  linkPort: number
  metadataPort: number
  region: string
  /** name of the directory with the imitated AWS; usually the cluster's own */
  aws: string
  /** URL of an imitated AWS started elsewhere, used instead */
  provider?: string
  /** base address of the other cluster of a pair, for drills */
  peer?: string
}

type Rest = Pick<
  HostOptions,
  | 'memory'
  | 'unlisted'
  | 'pairPid'
  | 'legacySignatures'
  | 'caBundles'
  | 'capacity'
  | 'timeouts'
  | 'onLine'
  | 'onKeys'
>

export interface LastingOptions extends Rest {
  cluster: string
  /** port of the imitated AWS if this host starts it; 0: any */
  providerPort?: number
  /** the options of this start */
  place: Partial<ClusterPlace>
}

const API_PORT = 8200

/** Variable with the control token of the imitated AWS that `provider` names. */
export const CONTROL_TOKEN = 'CLOUD_AUTH_CONTROL_TOKEN'

/**
 * Starts a host for operators in a process that may be killed. It comes back at the same addresses, and the imitated
 * AWS, which other hosts may share, runs in its own process.
 */
export async function startLasting({ place: asked, providerPort, ...rest }: LastingOptions): Promise<Host> {
  const { cluster, memory } = rest
  const place = await placeOf(asked, memory ? {} : readLastPlace(cluster), cluster)
  const { aws, region, peer, provider, ...ports } = place
  const host = await startHost({
    ...rest,
    ...ports,
    ...(peer === undefined
      ? {}
      : { peer, drill: { own: `http://127.0.0.1:${ports.port}`, peer, policy: 'drill' } }),
    region,
    // Ctrl-C reaches only the host, which ends its engine last
    apart: true,
    provider: directory =>
      provider === undefined
        ? startAwsProcess(
            defined({
              directory: memory && aws === cluster ? directory : clusterDirectory(aws),
              port: providerPort,
              region,
            }),
          )
        : useAwsAt({ url: provider, control_token: givenControlToken() }),
  })
  const metadataPort = Number(new URL(host.metadata_url).port)
  if (asked.metadataPort && asked.metadataPort !== metadataPort) {
    await host.close()
    throw new Error(
      `the running imitated AWS has its metadata service at ${host.metadata_url} already; leave out --metadata-port`,
    )
  }
  if (!memory) writeAtomically(fileOf(cluster), JSON.stringify({ ...place, metadataPort }, null, 2))
  return host
}

/**
 * Returns the control token of an imitated AWS that this process does not start. It comes from the environment,
 * because all users of a machine can see command lines.
 */
function givenControlToken(): string {
  const token = process.env[CONTROL_TOKEN]
  if (token) return token
  throw new Error(
    `the imitated AWS named by --provider requires its control token. Set ${CONTROL_TOKEN} to the control_token that it printed at its start`,
  )
}

/** Returns the place of a cluster at its last start. Empty: there was none. */
export const readLastPlace = (cluster: string): Partial<ClusterPlace> =>
  JSON.parse(readTextFile(fileOf(cluster)) ?? '{}') as Partial<ClusterPlace>

const fileOf = (cluster: string): string => `${clusterDirectory(cluster)}/place.json`

/** Merges this start's options with the last start's place and the defaults of a new cluster. */
async function placeOf(
  asked: Partial<ClusterPlace>,
  kept: Partial<ClusterPlace>,
  cluster: string,
): Promise<ClusterPlace> {
  const port = async (name: 'port' | 'linkPort' | 'metadataPort', otherwise = 0) => {
    const wanted = asked[name] ?? kept[name] ?? otherwise
    return wanted || (await freeOrAny(kept[name] ?? 0)) || findSteadyPort()
  }
  const { provider = asked.aws === undefined ? kept.provider : undefined } = asked
  return defined({
    port: await port('port', API_PORT),
    linkPort: await port('linkPort'),
    metadataPort: await port('metadataPort'),
    region: asked.region ?? kept.region ?? HOME.region,
    aws: asked.aws ?? kept.aws ?? cluster,
    provider,
    peer: asked.peer ?? kept.peer,
  })
}
