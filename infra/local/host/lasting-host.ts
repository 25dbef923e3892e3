import { defined } from '../../../shared/values/defined.ts'
import { clusterDirectory, readTextFile, writeFileAtomically } from '../os/cluster-file.ts'
import { chooseFreePort, findSteadyPort } from '../os/loopback.ts'
import { HOME_ACCOUNT } from '../provider/home.ts'
import { connectToImitatedAws, startImitatedAwsProcess } from './aws-process.ts'
import { type LocalHost, type LocalHostOptions, startLocalHost } from './host.ts'

/** Ports, region and imitated AWS of a cluster. Missing values are taken from the last start. */
export interface LastingHostPlace {
  /** 0: any port, preferably the port of the last start; the same holds for all ports of this type */
  port: number
  linkPort: number
  metadataPort: number
  region: string
  /** name of the directory with the imitated AWS; usually the cluster's own directory */
  aws: string
  /** URL of an imitated AWS started elsewhere, which the cluster uses instead */
  provider?: string
  /** base address of the other cluster of a pair, for drills */
  peer?: string
}

type Rest = Pick<
  LocalHostOptions,
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

export interface LastingHostOptions extends Rest {
  cluster: string
  /** port of the imitated AWS if this host starts it; 0: any */
  providerPort?: number
  /** the cluster's place, as the options of this start give it */
  place: Partial<LastingHostPlace>
}

const API_PORT = 8200

/** Variable with the control token of the imitated AWS that `provider` names. */
export const CONTROL_TOKEN_VARIABLE = 'CLOUD_AUTH_CONTROL_TOKEN'

/**
 * Starts a host for operators in a process that may be killed. The host comes back at the same addresses, and
 * the imitated AWS, which other hosts may share, runs in its own process.
 */
export async function startLastingHost({
  place: asked,
  providerPort,
  ...rest
}: LastingHostOptions): Promise<LocalHost> {
  const { cluster, memory } = rest
  const place = await placeOf(asked, memory ? {} : readLastHostPlace(cluster), cluster)
  const { aws, region, peer, provider, ...ports } = place
  const host = await startLocalHost({
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
        ? startImitatedAwsProcess(
            defined({
              directory: memory && aws === cluster ? directory : clusterDirectory(aws),
              port: providerPort,
              region,
            }),
          )
        : connectToImitatedAws({ url: provider, control_token: givenControlToken() }),
  })
  const metadataPort = Number(new URL(host.metadata_url).port)
  if (asked.metadataPort && asked.metadataPort !== metadataPort) {
    await host.close()
    throw new Error(
      `the running imitated AWS has its metadata service at ${host.metadata_url} already; leave out --metadata-port`,
    )
  }
  if (!memory) writeFileAtomically(fileOf(cluster), JSON.stringify({ ...place, metadataPort }, null, 2))
  return host
}

/**
 * Returns the control token of an imitated AWS that this process does not start. The token comes from the
 * environment, because all users of a machine can see command lines.
 */
function givenControlToken(): string {
  const token = process.env[CONTROL_TOKEN_VARIABLE]
  if (token) return token
  throw new Error(
    `the imitated AWS named by --provider requires its control token. Set ${CONTROL_TOKEN_VARIABLE} to the control_token that the imitated AWS printed at its start`,
  )
}

/** Returns the directory and ports of a cluster at its last start. Empty: the cluster was never started. */
export const readLastHostPlace = (cluster: string): Partial<LastingHostPlace> =>
  JSON.parse(readTextFile(fileOf(cluster)) ?? '{}') as Partial<LastingHostPlace>

const fileOf = (cluster: string): string => `${clusterDirectory(cluster)}/place.json`

/** Merges this start's options with the last start's place and the defaults of a new cluster. */
async function placeOf(
  asked: Partial<LastingHostPlace>,
  kept: Partial<LastingHostPlace>,
  cluster: string,
): Promise<LastingHostPlace> {
  const port = async (name: 'port' | 'linkPort' | 'metadataPort', otherwise = 0) => {
    const wanted = asked[name] ?? kept[name] ?? otherwise
    return wanted || (await chooseFreePort(kept[name] ?? 0)) || findSteadyPort()
  }
  const { provider = asked.aws === undefined ? kept.provider : undefined } = asked
  return defined({
    port: await port('port', API_PORT),
    linkPort: await port('linkPort'),
    metadataPort: await port('metadataPort'),
    region: asked.region ?? kept.region ?? HOME_ACCOUNT.region,
    aws: asked.aws ?? kept.aws ?? cluster,
    provider,
    peer: asked.peer ?? kept.peer,
  })
}
