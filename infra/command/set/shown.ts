import { inOneLine } from '../output.ts'
import type { ClusterSeen, Word } from './look.ts'
import { type ClusterTold, numberIn, wordsIn } from './status-shape.ts'
import { peersIn, type SetVerdict } from './verdict.ts'

/** A peer, as a cluster knows it. Ages in milliseconds; null: not told. */
interface ShownPeer {
  name: string
  connected: boolean
  heard: string | null
  heard_age_ms: number | null
  canary_age_ms: number | null
}

/** A cluster by its own word. */
export interface ShownCluster {
  name: string
  address: string
  reachable: boolean
  /** why there is no word of now */
  silent: string | null
  /** of the word below, milliseconds; null: it has never given one */
  age_ms: number | null
  health: number | null
  serves: boolean
  role: string | null
  state: string | null
  set: string | null
  position: number | null
  /** of a secondary: positions that its primary has told of, and it lacks */
  lag: number | null
  peers: readonly ShownPeer[]
  operation: ClusterTold | null
  last_error: ClusterTold | null
  readiness: (ClusterTold & { age_ms: number }) | null
}

/** What `status` tells. */
export interface ShownSet {
  verdict: SetVerdict['exit']
  faults: readonly string[]
  clusters: readonly ShownCluster[]
}

/** @param now epoch milliseconds */
export const shownSet = (
  seen: readonly ClusterSeen[],
  { exit, faults }: SetVerdict,
  now: number,
): ShownSet => ({
  verdict: exit,
  faults,
  clusters: seen.map(one => shownCluster(one, now)),
})

const SILENT = {
  age_ms: null,
  health: null,
  serves: false,
  role: null,
  state: null,
  set: null,
  position: null,
  lag: null,
  peers: [],
  operation: null,
  last_error: null,
  readiness: null,
} as const

function shownCluster({ name, base, word, silent }: ClusterSeen, now: number): ShownCluster {
  const known = { name, address: base, reachable: silent === undefined, silent: silent ?? null }
  return word ? { ...known, ...shownWord(word, now) } : { ...known, ...SILENT }
}

function shownWord(
  { at, health, status }: Word,
  now: number,
): Omit<ShownCluster, 'name' | 'address' | 'reachable' | 'silent'> {
  const isSecondary = status['mode'] === 'secondary'
  const position = numberIn(status, isSecondary ? 'last_remote_wal' : 'last_dr_wal')
  const told = isSecondary ? numberIn(peersIn(status)[0] ?? {}, 'last_position') : null
  const readiness = status['readiness'] as ClusterTold | undefined
  return {
    age_ms: now - at,
    health,
    serves: health === 200,
    role: wordsIn(status, 'mode'),
    state: wordsIn(status, 'state') || null,
    set: wordsIn(status, 'cluster_id') || null,
    position,
    lag: told === null || position === null ? null : Math.max(0, told - position),
    peers: peersIn(status).map(peer => shownPeer(peer, now)),
    operation: (status['operation'] as ClusterTold | undefined) ?? null,
    last_error: (status['last_error'] as ClusterTold | undefined) ?? null,
    readiness: readiness ? { ...readiness, age_ms: ageIn(readiness, 'tried', now) ?? 0 } : null,
  }
}

const shownPeer = (peer: ClusterTold, now: number): ShownPeer => ({
  name: wordsIn(peer, 'node_id') || wordsIn(peer, 'api_address'),
  connected: peer['connection_status'] === 'connected',
  heard: wordsIn(peer, 'last_heartbeat') || null,
  heard_age_ms: ageIn(peer, 'last_heartbeat', now),
  canary_age_ms: numberIn(peer, 'replication_primary_canary_age_ms'),
})

/** Milliseconds since a time that a cluster told, by this machine's clock; never less than none. */
const ageIn = (told: ClusterTold, field: string, now: number): number | null => {
  const time = Date.parse(wordsIn(told, field))
  return Number.isNaN(time) ? null : Math.max(0, now - time)
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`

/** The same as people read it; the last line is the verdict. */
export function describedSet({ faults, clusters }: ShownSet): string {
  const last = faults.length === 0 ? 'All is well.' : faults.map(fault => `! ${inOneLine(fault)}`).join('\n')
  return [...clusters.map(describedCluster), last, ''].join('\n')
}

function describedCluster(one: ShownCluster): string {
  const { name, address, reachable, age_ms, silent } = one
  const rows: [string, string][] = [['address', address]]
  if (!reachable) rows.push(['silent', silent ?? ''])
  if (age_ms !== null)
    rows.push([reachable ? 'asked' : 'last word', `${seconds(age_ms)} ago`], ...rowsOfWord(one))
  const head = age_ms === null ? 'cannot be reached' : [one.role, one.state].filter(Boolean).join(', ')
  return [
    `${name}: ${head}${one.serves ? ', serves' : ''}`,
    ...rows.map(([label, text]) => `  ${label.padEnd(11)}${inOneLine(text)}`),
    '',
  ].join('\n')
}

function rowsOfWord({
  position,
  lag,
  peers,
  operation,
  last_error,
  readiness,
}: ShownCluster): [string, string][] {
  const since = peers.some(({ connected }) => connected)
    ? ''
    : '; its primary does not answer, and what that committed since is missing too'
  const behind = lag === null ? '' : `, ${lag} behind what its primary told${since}`
  return [
    ...(position === null ? [] : ([['position', `${position}${behind}`]] as [string, string][])),
    ...peers.map(({ name, connected, heard_age_ms, canary_age_ms }): [string, string] => [
      'peer',
      [
        `${name} ${connected ? 'connected' : 'not connected'}`,
        ...(heard_age_ms === null ? [] : [`heard ${seconds(heard_age_ms)} ago`]),
        ...(canary_age_ms === null ? [] : [`canary ${seconds(canary_age_ms)} old`]),
      ].join(', '),
    ]),
    ...(operation
      ? ([
          [
            'operation',
            `${wordsIn(operation, 'name')}, next step ${wordsIn(operation, 'step')}, since ${wordsIn(operation, 'since')}`,
          ],
        ] as [string, string][])
      : []),
    ...(last_error
      ? ([['last error', `${wordsIn(last_error, 'text')} (${wordsIn(last_error, 'time')})`]] as [
          string,
          string,
        ][])
      : []),
    ...(readiness ? ([['readiness', readinessText(readiness)]] as [string, string][]) : []),
  ]
}

const readinessText = ({ ready, refused_by, age_ms }: ClusterTold & { age_ms: number }): string =>
  `${ready === true ? 'ready' : `refused by ${((refused_by ?? []) as readonly string[]).join(', ')}`}, tried ${seconds(age_ms)} ago`
