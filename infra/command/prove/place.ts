import { CommandEnded } from '../ended.ts'
import type { ProveAccount } from './account.ts'
import type { KubernetesAccess } from './kubernetes.ts'
import { isPeerPart, type ProvePart } from './names.ts'
import type { ProveTools } from './tools.ts'

/** The account of a run, in one or two regions. */
export interface ProvePlace {
  region: string
  account: ProveAccount
  peer: { region: string; account: ProveAccount } | undefined
  /** name of the EKS cluster in which the run makes a namespace */
  eksCluster: string | undefined
  cloudOf(part: ProvePart): ProveAccount['cloud']
  /** opens the Kubernetes API of the EKS cluster. @returns undefined if the cluster does not exist */
  findKubernetes(): Promise<KubernetesAccess | undefined>
}

/** Opens the account in the regions of a run. @throws CommandEnded for regions that cannot be used together */
export async function openPlace(
  {
    region,
    peerRegion,
    eksCluster,
  }: Partial<Record<'region' | 'peerRegion' | 'eksCluster', string | undefined>>,
  profile: string | undefined,
  { environment, connection, open }: ProveTools,
): Promise<ProvePlace> {
  if (peerRegion !== undefined && peerRegion === region)
    throw new CommandEnded('usage', '--peer-region must be another region than --region')
  const account = await open(region, profile, environment, connection)
  const other =
    peerRegion === undefined ? undefined : await open(peerRegion, profile, environment, connection)
  const peer =
    peerRegion === undefined || other === undefined ? undefined : { region: peerRegion, account: other }
  return {
    region: region ?? '',
    account,
    peer,
    eksCluster,
    findKubernetes: async () => (eksCluster === undefined ? undefined : account.findEksCluster(eksCluster)),
    cloudOf: part => (isPeerPart(part) && peer ? peer.account : account).cloud,
  }
}

/** Returns the regions, the EKS cluster and the account of a run, as its journal and its report name them. */
export const toPlaceNames = ({ region, peer, eksCluster, account }: ProvePlace) => ({
  region,
  ...(peer === undefined ? {} : { peerRegion: peer.region }),
  ...(eksCluster === undefined ? {} : { eksCluster }),
  account: account.id,
})
