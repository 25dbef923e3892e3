import type { ExitName } from '../ended.ts'
import type { ClusterSeen } from './look.ts'
import { type ClusterTold, wordsIn } from './status-shape.ts'
import { knowsPrimary } from './verdict.ts'

/** What a planned switch does next. `where`: the place that the set has come to, in a sentence. */
export type NextOfSwitch = { readonly where: string } & (
  | { readonly do: 'promote'; readonly resumed: boolean }
  | { readonly do: 'follow' }
  /** goes on by itself */
  | { readonly do: 'wait' }
  | { readonly do: 'done' }
  | { readonly do: 'stop'; readonly exit: ExitName; readonly why: string }
)

interface Both {
  from: ClusterSeen
  to: ClusterSeen
}

/** Decides by what both say now, and by nothing else: so a switch that was broken off goes on where the set is. */
export function nextOfSwitch({ from, to }: Both): NextOfSwitch {
  const [own, other] = [from.word?.status, to.word?.status]
  const away = [to, from].find(one => one.silent !== undefined)
  if (away || !own || !other) {
    const serves = to.silent === undefined && other?.['mode'] === 'primary'
    const where = serves ? `${to.name} serves.` : 'Where the set is could not be seen.'
    const hint = serves ? '' : '; where a cluster is lost, see docs/runbooks/disaster.md'
    return stop(where, `${away?.name}: ${away?.silent ?? 'it said nothing'}${hint}`, 'unreachable')
  }
  const sets = [wordsIn(own, 'cluster_id'), wordsIn(other, 'cluster_id')]
  if (sets[0] !== sets[1] || sets[0] === '')
    return stop('Nothing was changed.', `${from.name} and ${to.name} are not of one set`)
  return other['mode'] === 'primary'
    ? nextBehind({ from, to }, own, other)
    : nextBefore({ from, to }, own, other)
}

const stop = (where: string, why: string, exit: ExitName = 'refused'): NextOfSwitch => ({
  do: 'stop',
  exit,
  where,
  why,
})

/** The promotions that a cluster knows of. */
const generation = (status: ClusterTold): number => Number(status['ssct_generation_counter'] ?? 0)

/** `to` is the primary: what is left is that `from` follows it. */
function nextBehind({ from, to }: Both, own: ClusterTold, other: ClusterTold): NextOfSwitch {
  const serves = `${to.name} serves`
  const mode = own['mode']
  if (mode === 'primary')
    return generation(own) < generation(other)
      ? { do: 'wait', where: `${serves}; ${from.name} has not heard of it yet, and closes when it does.` }
      : stop(
          `Both say that they are the primary.`,
          `${from.name} was promoted as often as ${to.name}, or more often`,
        )
  if (mode === 'disabled') return stop(`${serves}.`, `${from.name} is of no DR set`)
  if (mode === 'secondary' && !knowsPrimary(own) && own['operation'] === undefined)
    return { do: 'follow', where: `${serves}; ${from.name} follows nobody yet.` }
  if (mode === 'secondary' && wordsIn(own, 'state') === 'stream-wals' && own['operation'] === undefined)
    return { do: 'done', where: `${serves}; ${from.name} follows it.` }
  return {
    do: 'wait',
    where: `${serves}; ${from.name} is about to follow it (${wordsIn(own, 'state')}), by itself.`,
  }
}

/** `to` is not the primary yet. */
function nextBefore({ from, to }: Both, own: ClusterTold, other: ClusterTold): NextOfSwitch {
  const nothing = `${from.name} serves; nothing was changed.`
  const [operation, busy] = [other['operation'], own['operation']] as (ClusterTold | undefined)[]
  if (other['mode'] !== 'secondary')
    return stop(nothing, `${to.name} is no secondary, but ${wordsIn(other, 'mode')}`)
  if (operation && wordsIn(operation, 'name') === 'promotion')
    return {
      do: 'promote',
      resumed: true,
      where: `${to.name} is taking over from ${from.name}; that goes on by itself.`,
    }
  if (operation)
    return stop(nothing, `${to.name}: ${wordsIn(operation, 'name')} is under way; wait for its end`)
  if (own['mode'] === 'secondary') {
    if (knowsPrimary(own))
      return stop(
        'Neither of both is the primary.',
        `${from.name} follows ${wordsIn(own, 'primary_cluster_addr')}`,
      )
    return {
      do: 'promote',
      resumed: true,
      where: `Nobody serves: ${from.name} has handed over or closed, and ${to.name} has not taken over yet.`,
    }
  }
  if (own['mode'] !== 'primary')
    return stop('Nothing was changed.', `${from.name} is no primary, but ${wordsIn(own, 'mode')}`)
  if (busy) return stop(nothing, `${from.name}: ${wordsIn(busy, 'name')} is under way; wait for its end`)
  if (wordsIn(other, 'state') !== 'stream-wals')
    return stop(
      nothing,
      `${to.name} does not stream from its primary: its state is ${wordsIn(other, 'state')}`,
    )
  return {
    do: 'promote',
    resumed: false,
    where: `${from.name} serves, and ${to.name} follows it: nothing was changed.`,
  }
}
