import { followOn } from './follow.ts'
import { ask, type Follower } from './follower.ts'

/**
 * One step of following, for who has to come to something by it: the source is asked first, a fault of the link is none,
 * and where nothing was to be done some time passes.
 * @param otherwise `pause` milliseconds; `warning` goes to the log with a fault
 */
export async function followCarefully(
  follower: Follower,
  { pause, warning }: { pause: number; warning: string },
): Promise<void> {
  const { clock, log } = follower.own
  try {
    if (!follower.source) await ask(follower)
    if ((await followOn(follower)) === 'worked') return
  } catch (error) {
    delete follower.source
    log.warn(warning, { error: String(error) })
  }
  await clock.sleep(pause)
}
