import { CommandEnded } from '../ended.ts'
import type { ProveAccount } from './account.ts'
import { isPeerPart, type ProvePart } from './names.ts'
import type { ProveTools } from './tools.ts'

/** The account of a run, in one or two regions. */
export interface ProvePlace {
  region: string
  account: ProveAccount
  peer: { region: string; account: ProveAccount } | undefined
  cloudOf(part: ProvePart): ProveAccount['cloud']
}

/** Opens the account in the regions of a run. @throws CommandEnded for regions that cannot be used together */
export async function openPlace(
  { region, peerRegion }: Partial<Record<'region' | 'peerRegion', string | undefined>>,
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
    cloudOf: part => (isPeerPart(part) && peer ? peer.account : account).cloud,
  }
}

/** Returns the regions and the account of a run, as its journal and its report name them. */
export const toPlaceNames = ({ region, peer, account }: ProvePlace) => ({
  region,
  ...(peer === undefined ? {} : { peerRegion: peer.region }),
  account: account.id,
})
