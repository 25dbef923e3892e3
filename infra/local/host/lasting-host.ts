import { defined } from '../../../shared/values/defined.ts'
import { keptAt, textOf, writeWhole } from '../os/cluster-file.ts'
import { firstFree, steadyPort } from '../os/loopback.ts'
import { HOME } from '../provider/home.ts'
import { awsAt, awsProcess } from './aws-process.ts'
import { type Host, type HostOptions, startHost } from './host.ts'

/** Where a cluster is, and in which AWS. What is left out is as it was at the last start. */
export interface ClusterPlace {
  /** 0: any, the one of the last start if it is free; so are all ports here */
  port: number
  linkPort: number
  metadataPort: number
  region: string
  /** name of the directory that has the imitated AWS; that of the cluster, as a rule */
  aws: string
  /** URL of an imitated AWS that somebody else has started, instead */
  provider?: string
  /** base address of the other cluster of a pair, with which drills switch */
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
  /** of the imitated AWS, where one is started; 0: any */
  providerPort?: number
  /** what was asked for now */
  place: Partial<ClusterPlace>
}

const API_PORT = 8200

/** Variable with the control token of the imitated AWS that `provider` names. */
export const CONTROL_TOKEN = 'CLOUD_AUTH_CONTROL_TOKEN'

/**
 * Starts a host as operators have it, in a process that may be killed: others find it again at the addresses that they know,
 * and the imitated AWS, which others may share, lives apart from it.
 */
export async function startLasting({ place: asked, providerPort, ...rest }: LastingOptions): Promise<Host> {
  const { cluster, memory } = rest
  const place = await placeOf(asked, memory ? {} : keptPlace(cluster), cluster)
  const { aws, region, peer, provider, ...ports } = place
  const host = await startHost({
    ...rest,
    ...ports,
    ...(peer === undefined
      ? {}
      : { peer, drill: { own: `http://127.0.0.1:${ports.port}`, peer, policy: 'drill' } }),
    region,
    // a terminal's signals are for the host alone, which ends its engine when nothing needs it any more
    apart: true,
    provider: directory =>
      provider === undefined
        ? awsProcess(
            defined({
              directory: memory && aws === cluster ? directory : keptAt(aws),
              port: providerPort,
              region,
            }),
          )
        : awsAt({ url: provider, control_token: givenControlToken() }),
  })
  const metadataPort = Number(new URL(host.metadata_url).port)
  if (asked.metadataPort && asked.metadataPort !== metadataPort) {
    await host.close()
    throw new Error(
      `the metadata service is at ${host.metadata_url} already, in the imitated AWS that runs: leave out --metadata-port`,
    )
  }
  if (!memory) writeWhole(fileOf(cluster), JSON.stringify({ ...place, metadataPort }, null, 2))
  return host
}

/** The environment has the token of an imitated AWS that this process does not start: command lines are there for all to see. */
function givenControlToken(): string {
  const token = process.env[CONTROL_TOKEN]
  if (token) return token
  throw new Error(
    `the imitated AWS that --provider names takes commands by its control token only: put what it printed as control_token at its start into ${CONTROL_TOKEN} in the environment`,
  )
}

/** The place of a cluster at its last start; empty: there was none. */
export const keptPlace = (cluster: string): Partial<ClusterPlace> =>
  JSON.parse(textOf(fileOf(cluster)) ?? '{}') as Partial<ClusterPlace>

const fileOf = (cluster: string): string => `${keptAt(cluster)}/place.json`

/** What was asked for, else what was, else what a new cluster gets. */
async function placeOf(
  asked: Partial<ClusterPlace>,
  kept: Partial<ClusterPlace>,
  cluster: string,
): Promise<ClusterPlace> {
  const port = async (name: 'port' | 'linkPort' | 'metadataPort', otherwise = 0) => {
    const wanted = asked[name] ?? kept[name] ?? otherwise
    return wanted || (await firstFree(kept[name] ?? 0)) || steadyPort()
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
