import type { Stand } from './stand.ts'

type Name = 'east' | 'west'

/** What is to be done next so that one of two clusters follows the other. */
export type NextStep =
  /** one serves and the other follows it */
  | { do: 'nothing'; primary: Name; secondary: Name }
  /** neither is of a set */
  | { do: 'enable'; primary: Name }
  /** the other is of no set: its data are deleted, and it becomes the secondary */
  | { do: 'admit'; primary: Name; secondary: Name }
  /** the other has been a primary, and follows nobody since */
  | { do: 'follow'; primary: Name; secondary: Name }
  /** goes on by itself; `seconds`: as a rule it is over by then. `otherwise`: what to do when it is not */
  | { do: 'wait'; what: string; seconds: number; otherwise: Exclude<NextStep, { do: 'wait' }> }
  /** who is to serve is for operators to say */
  | { do: 'leave'; why: string }

type Seen = Pick<Stand, 'mode' | 'state' | 'isBuilding' | 'connection' | 'primary'>

/** Seconds in which a cluster of a set hears of its primary: heartbeats come every ten, and pauses between tries grow. */
const HEARD_WITHIN_SECONDS = 40
/** Seconds in which a former primary hears of its successor, which tells it at least every minute. */
const CLOSED_WITHIN_SECONDS = 70
const OPERATION_WITHIN_SECONDS = 30
const JOURNAL_WITHIN_SECONDS = 60
const ACTIVATION_WITHIN_SECONDS = 90

const wait = (what: string, seconds: number, otherwise: Exclude<NextStep, { do: 'wait' }>): NextStep => ({
  do: 'wait',
  what,
  seconds,
  otherwise,
})

const leave = (why: string) => ({ do: 'leave', why }) as const

/** Decides by what both say. Nobody is promoted or demoted here. */
export function nextOfPair(seen: Readonly<Record<Name, Seen>>): NextStep {
  const { east, west } = seen
  const names = ['east', 'west'] as const
  const starting = names.find(name => seen[name].mode === 'bootstrapping')
  if (starting)
    return wait(
      `${starting} goes on becoming a secondary`,
      ACTIVATION_WITHIN_SECONDS,
      leave(`${starting} does not come to be a secondary: its functions.log tells why.`),
    )
  if (east.mode === 'primary' && west.mode === 'primary')
    return wait(
      'both were left as the primary: the earlier one hears of the other, and closes',
      CLOSED_WITHIN_SECONDS,
      leave(
        'Both are primaries, of two sets or of one that was split: disable DR on the one that shall follow.',
      ),
    )
  const primary = names.find(name => seen[name].mode === 'primary')
  if (primary) return withPrimary(primary, seen)
  if (east.mode === 'disabled' && west.mode === 'disabled') return { do: 'enable', primary: 'east' }
  return withoutPrimary(seen)
}

function withPrimary(primary: Name, seen: Readonly<Record<Name, Seen>>): NextStep {
  const roles = { primary, secondary: primary === 'east' ? 'west' : 'east' } as const
  const { secondary } = roles
  const { mode, state, connection, primary: followed } = seen[secondary]
  const own = seen[primary]
  if (own.state !== 'running' || own.isBuilding)
    return wait(
      `${primary} builds its journal`,
      JOURNAL_WITHIN_SECONDS,
      leave(`The journal of ${primary} is not whole (${own.state}): its functions.log tells why.`),
    )
  if (mode === 'disabled') return { do: 'admit', ...roles }
  if (followed === '') return { do: 'follow', ...roles }
  if (connection !== 'ready')
    return wait(`${secondary} looks for ${primary}`, HEARD_WITHIN_SECONDS, { do: 'follow', ...roles })
  if (state !== 'stream-wals')
    return wait(
      `${secondary} fetches what differs (${state})`,
      ACTIVATION_WITHIN_SECONDS,
      leave(`${secondary} is connected to ${primary}, and does not stream: ${state}.`),
    )
  return { do: 'nothing', ...roles }
}

/** A change of roles may have been broken off with the clusters; it goes on with them. */
function withoutPrimary({ east, west }: Readonly<Record<Name, Seen>>): NextStep {
  const why =
    east.mode === west.mode
      ? 'both are secondaries. Promote the one that shall (below)'
      : `${east.mode === 'secondary' ? 'east' : 'west'} is a secondary whose primary is not here. Promote it by force (below)`
  return wait(
    'neither is the primary: a change of roles that was broken off goes on',
    OPERATION_WITHIN_SECONDS,
    leave(`Nobody serves: ${why}, then start the pair again.`),
  )
}
