import { judgeSet } from '../../../shared/set/overview.ts'
import { hasAnswered, type KnownCluster, type ObservedCluster } from '../../../shared/set/status.ts'
import type { ExitName } from '../ended.ts'
import { escapeToOneLine } from '../output.ts'
import type { NamedCluster } from './look.ts'

/**
 * Returns the milliseconds since a time by this machine's clock, at least 0, or null if the time is unknown.
 */
const ageOf = (time: number | undefined, now: number): number | null =>
  time === undefined ? null : Math.max(0, now - time)

const shownPeer = (
  { name, apiAddress, isConnected, lastHeartbeat, lastHeartbeatAt, canaryAge_ms }: KnownCluster,
  now: number,
) => ({
  name: name || apiAddress,
  connected: isConnected,
  heard: lastHeartbeat || null,
  heard_age_ms: ageOf(lastHeartbeatAt, now),
  canary_age_ms: canaryAge_ms ?? null,
})

/** Summarises a cluster by its own answer. A member is null if the answer does not have it. */
function shownCluster({ name, answer, silent }: ObservedCluster, address: string, now: number) {
  const status = answer?.status
  const position = status?.position ?? null
  const reported = status?.primary?.position
  const { at, ...readiness } = status?.readiness ?? {}
  return {
    name,
    address,
    reachable: silent === undefined,
    /** the reason why the cluster did not answer */
    silent: silent?.why ?? null,
    age_ms: answer ? now - answer.at : null,
    health: answer?.health ?? null,
    serves: answer?.health === 200,
    role: status?.mode ?? null,
    state: status?.state || null,
    set: status?.set || null,
    position,
    /**
     * for a secondary: number of positions that its primary has reported and the secondary has not applied
     */
    lag: reported === undefined || position === null ? null : Math.max(0, reported - position),
    peers: [...(status?.secondaries ?? []), ...(status?.primary ? [status.primary] : [])].map(peer =>
      shownPeer(peer, now),
    ),
    operation: status?.operation ?? null,
    last_error: status?.lastError ?? null,
    readiness: status?.readiness ? { ...readiness, age_ms: ageOf(at, now) ?? 0 } : null,
    left_out: status?.odd ?? [],
  }
}
type ShownCluster = ReturnType<typeof shownCluster>

/** The output of `status`. */
export interface SetSummary {
  verdict: Extract<ExitName, 'done' | 'unwell' | 'unreachable'>
  /** verdict on all clusters together, the same sentence as on the console page */
  headline: string
  /** the operator’s next task */
  next: string
  /** faults of the clusters, one sentence for each fault */
  faults: readonly string[]
  clusters: readonly ShownCluster[]
}

/** Summarises clusters that were observed at the same time. @param now epoch milliseconds */
export function summariseSet(
  seen: readonly ObservedCluster[],
  named: readonly NamedCluster[],
  now: number,
): SetSummary {
  const { verdict, faults, task } = judgeSet(seen)
  return {
    verdict: seen.every(hasAnswered) ? (faults.length === 0 ? 'done' : 'unwell') : 'unreachable',
    headline: verdict.sentence,
    next: task,
    faults,
    clusters: seen.map((one, index) => shownCluster(one, named[index]?.base ?? '', now)),
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`

/** Formats the summary of a set for people. The headline, other faults and the next task are last. */
export function formatSet({ headline, faults, clusters, next }: SetSummary): string {
  const more = faults.filter(fault => !headline.includes(fault)).map(fault => `! ${escapeToOneLine(fault)}`)
  const last = faults.length === 0 ? ['All is well.'] : [...more, `Next: ${next}`]
  return [...clusters.map(formatCluster), escapeToOneLine(headline), ...last, ''].join('\n')
}

function formatCluster(one: ShownCluster): string {
  const { name, address, reachable, age_ms, silent } = one
  const rows: [string, string][] = [['address', address]]
  if (!reachable) rows.push(['silent', silent ?? ''])
  if (age_ms !== null)
    rows.push([reachable ? 'asked' : 'last seen', `${seconds(age_ms)} ago`], ...rowsOfWord(one))
  const head = age_ms === null ? 'cannot be reached' : [one.role, one.state].filter(Boolean).join(', ')
  return [
    escapeToOneLine(`${name}: ${head}${one.serves ? ', serves' : ''}`),
    ...rows.map(([label, text]) => `  ${label.padEnd(11)}${escapeToOneLine(text)}`),
    '',
  ].join('\n')
}

function rowsOfWord(one: ShownCluster): [string, string][] {
  const { position, lag, peers, operation, last_error, readiness, left_out } = one
  const since = peers.some(({ connected }) => connected)
    ? ''
    : '; the primary does not answer, so this cluster lacks any later commits too'
  const behind = lag === null ? '' : `, ${lag} commits behind its primary’s last report${since}`
  const ready = readiness?.ready === true ? 'ready' : `refused by ${readiness?.refused_by?.join(', ')}`
  const rows: [string, string | false | null | undefined][] = [
    ['position', position !== null && `${position}${behind}`],
    ...peers.map(({ name, connected, heard_age_ms, canary_age_ms }): [string, string] => [
      'peer',
      [
        `${name} ${connected ? 'connected' : 'not connected'}`,
        ...(heard_age_ms === null ? [] : [`heartbeat ${seconds(heard_age_ms)} ago`]),
        ...(canary_age_ms === null ? [] : [`canary ${seconds(canary_age_ms)} old`]),
      ].join(', '),
    ]),
    ['operation', operation && `${operation.name}, next step ${operation.step}, since ${operation.since}`],
    ['last error', last_error && `${last_error.text} (${last_error.time})`],
    ['readiness', readiness && `${ready}, tried ${seconds(readiness.age_ms)} ago`],
    ['omitted', left_out.length > 0 && `fields of another version: ${left_out.join(', ')}`],
  ]
  return rows.filter((row): row is [string, string] => typeof row[1] === 'string')
}
