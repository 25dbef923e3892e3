import { type ObservedCluster, observeCluster, type RunningOperation } from '../../set/status.ts'
import { readShape } from '../../values/read-shape.ts'
import { objectShape, textShape } from '../../values/shape.ts'
import { quoteName } from '../../values/words.ts'
import type { ShownReadiness } from '../allowed.ts'
import type { ExpiryDescription } from '../ends.ts'
import { addLagSample, computeReplicationLags, type LagSample } from '../lag.ts'
import { apiBaseUrl } from '../links.ts'
import { askApi, faultText, ownApiUrl } from './ask.ts'

/** The state of the page. The browser discards the page's state when the page is closed. */
export interface PageModel {
  own: ObservedCluster
  /** the other cluster, if the page's settings name one */
  peer: { origin: string; seen: ObservedCluster } | undefined
  samples: readonly LagSample[]
  /** lags before this page was opened, from the last readiness */
  lagHistory: readonly { time: string; age_ms: number }[]
  /** the last operation seen on each cluster, running or ended */
  lastOperations: Readonly<Record<'own' | 'peer', RunningOperation | undefined>>
  token: string
  operationToken: string
  readiness: ShownReadiness | undefined
  /** true while a promotion ordered here runs; the page then polls faster */
  isPromotionOrdered: boolean
  /** certificates of mounts, once they have been requested */
  certificates: readonly ExpiryDescription[]
}

export const pageModel: PageModel = {
  own: { name: 'This cluster' },
  peer: undefined,
  samples: [],
  lagHistory: [],
  lastOperations: { own: undefined, peer: undefined },
  token: '',
  operationToken: '',
  readiness: undefined,
  isPromotionOrdered: false,
  certificates: [],
}

const LOOK_TIMEOUT_MS = 4000
const settingsShape = objectShape({ peer: textShape })

/** Reads the settings of the page. Without an answer the page shows its own cluster only. */
export async function readPageSettings(): Promise<void> {
  const answer = await fetch(new URL('settings.json', document.baseURI), { cache: 'no-store' }).catch(
    () => undefined,
  )
  const { peer = '' } = readShape(settingsShape, await answer?.json().catch(() => undefined)).fields
  if (peer !== '') pageModel.peer = { origin: peer, seen: { name: 'The other cluster' } }
}

/** Observes a cluster; if the cluster does not answer, its last answer stays. */
async function observe(api: string, before: ObservedCluster): Promise<ObservedCluster> {
  const ask = (path: string) =>
    askApi(api, path, { timeout: LOOK_TIMEOUT_MS }).catch((error: unknown) => {
      throw new Error(faultText(error))
    })
  const seen = await observeCluster(before, ask, Date.now)
  return { ...seen, name: quoteName(seen.answer?.cluster ?? '') || before.name }
}

/** Observes this cluster, and records the lag of the secondary. */
export async function observeOwnCluster(): Promise<void> {
  pageModel.own = await observe(ownApiUrl, pageModel.own)
  pageModel.lastOperations = {
    ...pageModel.lastOperations,
    own: pageModel.own.answer?.status.operation ?? pageModel.lastOperations.own,
  }
  const now = Date.now()
  pageModel.samples = addLagSample(pageModel.samples, {
    at: now,
    ...computeReplicationLags(observedClusters(), now),
  })
}

/**
 * Observes the other cluster. The observation of the other cluster runs on its own, so a silent peer does not delay
 * the observation of this cluster.
 */
export async function observePeerCluster(): Promise<void> {
  const { peer } = pageModel
  if (!peer) return
  const observed = await observe(apiBaseUrl(peer.origin), peer.seen)
  // a cluster that claims the name of this cluster is shown with its address
  const seen =
    observed.name === pageModel.own.name
      ? { ...observed, name: `${observed.name} at ${peer.origin}` }
      : observed
  pageModel.peer = { ...peer, seen }
  pageModel.lastOperations = {
    ...pageModel.lastOperations,
    peer: seen.answer?.status.operation ?? pageModel.lastOperations.peer,
  }
}

const statesSeen = new Map<string, { state: string; since: number }>()

/** Records a state of a cluster. @returns since when this page has seen the state, in epoch milliseconds */
export function noteState(id: string, state: string): number {
  const before = statesSeen.get(id)
  if (before?.state === state) return before.since
  const since = Date.now()
  statesSeen.set(id, { state, since })
  return since
}

export const observedClusters = (): ObservedCluster[] => [
  pageModel.own,
  ...(pageModel.peer ? [pageModel.peer.seen] : []),
]
