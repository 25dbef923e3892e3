import type { ObservedCluster } from '../../shared/set/status.ts'
import { seenAs, silent } from './cluster-seen.ts'

// The clusters east and west in the situations that programs encounter.

export const PAIR_SEEN_AT = Date.parse('2026-01-01T00:01:00Z')
const ago = (seconds: number) => new Date(PAIR_SEEN_AT - seconds * 1000).toISOString().replace('.000', '')
const set = { cluster_id: 'set', ssct_generation_counter: 1 }

const connectedPeer = (name: string) => ({
  node_id: name,
  connection_status: 'connected',
  last_heartbeat: ago(5),
})
/** Builds a primary that knows the other cluster as a connected secondary. */
export const primaryOf = (other: string) => ({
  ...set,
  mode: 'primary',
  state: 'running',
  last_wal: 12,
  last_dr_wal: 12,
  known_secondaries: [other],
  secondaries: [connectedPeer(other)],
})
/** Builds a secondary that streams from its primary. */
export const followerOf = (other: string, name: string) => ({
  ...set,
  mode: 'secondary',
  state: 'stream-wals',
  connection_state: 'ready',
  secondary_id: name,
  known_primary_cluster_addrs: [`https://${other}`],
  primary_cluster_addr: `https://${other}`,
  last_remote_wal: 10,
  primaries: [
    {
      api_address: `https://${other}`,
      connection_status: 'connected',
      last_position: 12,
      last_heartbeat: ago(3),
    },
  ],
  readiness: { ready: true, refused_by: [], tried: ago(30) },
})
/** Builds a former primary that follows no cluster. */
export const closedFormerPrimary = {
  ...set,
  mode: 'secondary',
  state: 'idle',
  connection_state: 'idle',
  secondary_id: '',
  known_primary_cluster_addrs: [],
  primaries: [],
}
export const promotion = {
  id: 'o',
  name: 'promotion',
  step: 'drain',
  since: ago(1),
  waits_until: '',
  error: '',
}
export const changing = (name: string) => ({ ...promotion, name })

const at = { at: PAIR_SEEN_AT - 1000 }
/** Builds east as a primary, with changed fields. */
export const east = (more: object = {}, health?: number) =>
  seenAs('east', { ...primaryOf('west'), ...more }, health, at)
/** Builds east as a secondary of west, with changed fields. */
export const eastBehind = (more: object = {}) =>
  seenAs('east', { ...followerOf('west', 'east'), ...more }, 472, at)
export const eastClosed = (more: object = {}) => seenAs('east', { ...closedFormerPrimary, ...more }, 472, at)
/** Builds west as a secondary of east, with changed fields. */
export const west = (more: object = {}) => seenAs('west', { ...followerOf('east', 'west'), ...more }, 472, at)
/** Builds west as a primary that was promoted later than east. */
export const westPromoted = (more: object = {}, health?: number) =>
  seenAs('west', { ...primaryOf('east'), ssct_generation_counter: 2, ...more }, health, at)
export const westClosed = (more: object = {}) => seenAs('west', { ...closedFormerPrimary, ...more }, 472, at)
export const inNoSet = (name: string) => seenAs(name, { mode: 'disabled' }, 200, at)
export const starting = (name: string) =>
  seenAs(name, { ...set, mode: 'bootstrapping', state: 'merkle-diff' }, 503, at)

/** An observed cluster, or a promise of an observed cluster. */
export type Seen = ObservedCluster | Promise<ObservedCluster>
/** Makes a cluster silent. */
export const gone = async (one: Seen): Promise<ObservedCluster> => silent(await one)
