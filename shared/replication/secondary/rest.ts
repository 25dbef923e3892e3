import type { Ports } from '../../ports.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { polling } from '../../values/retrying.ts'
import type { Follower } from './follower.ts'

/** Milliseconds between two questions while something comes, and at most when nothing has come for long. */
const PAUSE = { least: 500, most: 10_000 }
/**
 * Milliseconds for which a secondary goes on asking twice a second after something has come, or has been told of: who
 * tells it may be silent for a little less.
 */
const EAGER_MS = 6000
/** How often a run that rests looks for a notice in its own table, which costs far less than asking the primary. */
const LISTEN_MS = 250
/** How long a run waits whose primary does not answer. */
const SILENT_MS = 2000

/** The last notice that a run has seen, and when there was something to look for last, epoch milliseconds. */
export interface Attention {
  notice: Item<'notice'> | undefined
  since: number
}

/** What a run begins with: what was told shortly before is looked for. */
export const attentionTo = (notice: Item<'notice'> | undefined): Attention => ({
  notice,
  since: notice?.data.at ?? 0,
})

/** Whether there is a notice that this run has not seen yet. */
export async function isNoticed({ store }: Pick<Ports, 'store'>, attention: Attention): Promise<boolean> {
  const [notice] = await store.read([key('notice')])
  if (!notice || notice.rev === attention.notice?.rev) return false
  attention.notice = notice
  attention.since = Math.max(attention.since, notice.data.at)
  return true
}

/**
 * How long the primary is not asked when it had nothing. The pause grows as long as nothing comes, but not while a change
 * of the role is under way, or a comparison, or anything else but following.
 */
export function pauseOf(
  { source, cameAt = 0, told, handsOff, comparison }: Follower,
  { since }: Attention,
  now: number,
): number {
  if (!source) return SILENT_MS
  const compares = typeof comparison === 'object' && comparison.pages !== undefined
  if (told.state !== 'stream-wals' || handsOff || compares) return PAUSE.least
  const quiet = now - Math.max(cameAt, since)
  return Math.min(PAUSE.most, Math.max(PAUSE.least, quiet - EAGER_MS))
}

/** Waits until the primary is to be asked again: for a pause, or until a notice. @param end epoch milliseconds: not longer */
export async function rest(
  ports: Pick<Ports, 'store' | 'clock'>,
  follower: Follower,
  attention: Attention,
  end: number,
): Promise<void> {
  const { clock } = ports
  const pause = pauseOf(follower, attention, clock.now())
  if (pause <= SILENT_MS / 2 || !follower.source) return clock.sleep(pause)
  const until = Math.min(end, clock.now() + pause)
  if (clock.now() >= until) return
  await clock.sleep(Math.min(LISTEN_MS, until - clock.now()))
  await polling(clock, { everyMs: LISTEN_MS, until }, async () =>
    (await isNoticed(ports, attention)) ? 'noticed' : 'again',
  )
}
