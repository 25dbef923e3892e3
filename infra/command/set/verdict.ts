import type { ExitName } from '../ended.ts'
import type { ClusterSeen, Word } from './look.ts'
import { type ClusterTold, wordsIn } from './status-shape.ts'

/** What is said of a set, and how that ends a command. */
export interface SetVerdict {
  exit: Extract<ExitName, 'done' | 'unwell' | 'unreachable'>
  /** what speaks against it, a sentence each; none: all is well */
  faults: readonly string[]
}

/** A word that was just given. */
type Spoken = ClusterSeen & { word: Word }

const isHeard = (seen: ClusterSeen): seen is Spoken => seen.silent === undefined && seen.word !== undefined

/** Peers that a status names: secondaries of a primary, the primary of a secondary. */
export const peersIn = (status: ClusterTold): readonly ClusterTold[] =>
  (status['secondaries'] ?? status['primaries'] ?? []) as readonly ClusterTold[]

/** Judges clusters that were looked at together. One alone is judged by itself. */
export function judgeSet(seen: readonly ClusterSeen[]): SetVerdict {
  const silent = seen.filter(one => !isHeard(one))
  const heard = seen.filter(isHeard)
  const faults = [
    ...silent.map(({ name, silent: why = 'it said nothing' }) => `${name}: ${why}`),
    ...heard.flatMap(({ name, word }) => faultsOf(word).map(fault => `${name}: ${fault}`)),
    ...(silent.length === 0 && heard.length > 1 ? faultsBetween(heard) : []),
  ]
  if (silent.length > 0) return { exit: 'unreachable', faults }
  return { exit: faults.length === 0 ? 'done' : 'unwell', faults }
}

function faultsOf({ status, health }: Word): string[] {
  const mode = wordsIn(status, 'mode')
  const operation = status['operation'] as ClusterTold | undefined
  const faults = operation
    ? [`${wordsIn(operation, 'name')} is under way (${wordsIn(operation, 'step')})`]
    : []
  if (status['corrupted_merkle_tree'] === true) faults.push('its tree does not fit its items')
  if (mode === 'primary') faults.push(...faultsOfPrimary(status, health))
  else if (mode === 'secondary') faults.push(...faultsOfSecondary(status))
  else faults.push(mode === 'disabled' ? 'it is of no DR set' : 'it is becoming a secondary')
  return faults
}

function faultsOfPrimary(status: ClusterTold, health: number): string[] {
  const away = peersIn(status).filter(peer => peer['connection_status'] !== 'connected')
  return [
    ...(health === 200 ? [] : [`it is the primary, and its health is ${health}`]),
    ...(peersIn(status).length === 0 ? ['nobody follows it'] : []),
    ...away.map(peer => `its secondary ${wordsIn(peer, 'node_id')} is not connected`),
  ]
}

function faultsOfSecondary(status: ClusterTold): string[] {
  if (!knowsPrimary(status)) return ['it follows nobody']
  const readiness = status['readiness'] as { ready?: boolean; refused_by?: readonly string[] } | undefined
  const state = wordsIn(status, 'state')
  return [
    ...(state === 'stream-wals'
      ? []
      : [`its state is ${state}, its connection ${wordsIn(status, 'connection_state')}`]),
    ...(readiness && !readiness.ready
      ? [`it could not take over: ${(readiness.refused_by ?? []).join(', ')}`]
      : []),
  ]
}

/** Whether a secondary knows a primary. */
export const knowsPrimary = (status: ClusterTold): boolean =>
  ((status['known_primary_cluster_addrs'] ?? []) as readonly string[]).length > 0

function faultsBetween(heard: readonly Spoken[]): string[] {
  const primaries = heard.filter(({ word }) => word.status['mode'] === 'primary')
  const sets = new Set(heard.map(({ word }) => wordsIn(word.status, 'cluster_id')))
  return [
    ...(primaries.length === 0 ? ['none of them is the primary'] : []),
    ...(primaries.length > 1
      ? [`${primaries.map(({ name }) => name).join(' and ')} are primaries at once`]
      : []),
    ...(sets.size > 1 ? ['they are not of one set'] : []),
  ]
}
