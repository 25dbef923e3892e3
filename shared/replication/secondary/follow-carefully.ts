import { followOn } from './follow.ts'
import { ask, type Follower } from './follower.ts'

interface FollowingOtherwise {
  readonly pause: number
  readonly warning: string
  readonly givenUp?: (error: unknown) => Error | undefined
}

/**
 * One step of following, for who has to come to something by it: the source is asked first, a fault of the link is none,
 * and where nothing was to be done some time passes.
 * @param otherwise `pause` milliseconds; `warning` goes to the log with a fault; `givenUp`: what a fault comes to that
 * stays; undefined: it is as any other
 */
export async function followCarefully(
  follower: Follower,
  { pause, warning, givenUp }: FollowingOtherwise,
): Promise<void> {
  const { clock, log } = follower.own
  try {
    if (!follower.source) await ask(follower)
    if ((await followOn(follower)) === 'worked') return
  } catch (error) {
    delete follower.source
    const given = givenUp?.(error)
    if (given) throw given
    log.warn(warning, { error: String(error) })
  }
  await clock.sleep(pause)
}
