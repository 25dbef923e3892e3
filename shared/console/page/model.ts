import { type ObservedCluster, observeCluster, type RunningOperation } from '../../set/status.ts'
import { readShape } from '../../values/read-shape.ts'
import { aText, object } from '../../values/shape.ts'
import type { ShownReadiness } from '../allowed.ts'
import type { Expiry } from '../ends.ts'
import { lagsOf, type Sample, withSample } from '../lag.ts'
import { apiAt } from '../links.ts'
import { askApi, faultText, ownApi } from './ask.ts'

/** All that the page knows; it goes with the page. */
export interface PageModel {
  own: ObservedCluster
  /** the other cluster, if the settings of the page name one */
  peer: { origin: string; seen: ObservedCluster } | undefined
  samples: readonly Sample[]
  /** operations of this cluster and the other one as they were seen last, under way or not any more */
  lastOperations: Readonly<Record<'own' | 'peer', RunningOperation | undefined>>
  token: string
  operationToken: string
  readiness: ShownReadiness | undefined
  /** a change of the role has been ordered here: its steps go by in seconds */
  isOrdered: boolean
  /** of certificates of mounts, where they were asked for */
  certificates: readonly Expiry[]
}

export const model: PageModel = {
  own: { name: 'This cluster' },
  peer: undefined,
  samples: [],
  lastOperations: { own: undefined, peer: undefined },
  token: '',
  operationToken: '',
  readiness: undefined,
  isOrdered: false,
  certificates: [],
}

const LOOK_TIMEOUT_MS = 4000
const settingsShape = object({ peer: aText })

/** Reads the settings of the page. Without an answer the page shows its own cluster alone. */
export async function readPageSettings(): Promise<void> {
  const answer = await fetch(new URL('settings.json', document.baseURI), { cache: 'no-store' }).catch(
    () => undefined,
  )
  const { peer = '' } = readShape(settingsShape, await answer?.json().catch(() => undefined)).fields
  if (peer !== '') model.peer = { origin: peer, seen: { name: 'The other cluster' } }
}

/** Asks a cluster; where it does not answer its last word stays. */
async function heard(api: string, before: ObservedCluster): Promise<ObservedCluster> {
  const ask = (path: string) =>
    askApi(api, path, { timeout: LOOK_TIMEOUT_MS }).catch((error: unknown) => {
      throw new Error(faultText(error))
    })
  const seen = await observeCluster(before, ask, Date.now)
  return { ...seen, name: seen.answer?.cluster || before.name }
}

/** Asks this cluster, and notes what it says and how far behind the secondary is. */
export async function lookAtOwn(): Promise<void> {
  model.own = await heard(ownApi, model.own)
  model.lastOperations = {
    ...model.lastOperations,
    own: model.own.answer?.status.operation ?? model.lastOperations.own,
  }
  const now = Date.now()
  model.samples = withSample(model.samples, { at: now, ...lagsOf(bothSeen(), now) })
}

/** Asks the other cluster; one that does not answer keeps nobody from asking this one. */
export async function lookAtPeer(): Promise<void> {
  const { peer } = model
  if (!peer) return
  const seen = await heard(apiAt(peer.origin), peer.seen)
  model.peer = { ...peer, seen }
  model.lastOperations = {
    ...model.lastOperations,
    peer: seen.answer?.status.operation ?? model.lastOperations.peer,
  }
}

export const bothSeen = (): ObservedCluster[] => [model.own, ...(model.peer ? [model.peer.seen] : [])]
