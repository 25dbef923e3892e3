import { type HandedOver, LinkRefused, LinkSilent } from '../../link/source.ts'
import { handoverRefused, handoverSilent } from '../operation/faults.ts'
import { AGAIN, commitStep, DONE, type OperationRun, type OperationStep } from '../operation/run.ts'
import { epochAt } from '../position.ts'
import { ask, type Follower } from '../secondary/follower.ts'
import { newFollower } from '../secondary/new-follower.ts'
import { type PromotionStand, promotionAt, promotionTo } from './stand.ts'

/** Milliseconds for which a primary that does not answer any more is asked again. */
const PATIENCE_MS = 15_000
const PAUSE_MS = 500

/** What became of asking the primary once. */
type Asked = { end: HandedOver; epoch: string } | { refused: string } | 'silent'

/**
 * Has the primary end its epoch for this cluster, and notes the end. That it is asked is noted first: from then on it
 * may have ended, whatever becomes of this process. A primary that was silent, or refused, and with force one that
 * falls silent now, is done without.
 */
export const askHandover: OperationStep = async (run, id) => {
  const stand = await promotionAt(run, id, 'handover')
  if (!stand) return DONE
  const { ports } = run
  const now = ports.clock.now()
  const { asks, askedAt, force } = stand.promotion
  if (!asks) return commitStep(run, [promotionTo(stand, now, 'drain', {})], stand)
  if (askedAt === undefined) {
    await commitStep(run, [promotionTo(stand, now, 'handover', { askedAt: now })], stand)
    return AGAIN
  }
  const asked = await askOnce(run)
  if (asked === 'silent' && now - askedAt < PATIENCE_MS) {
    await ports.clock.sleep(PAUSE_MS)
    return AGAIN
  }
  if (asked === 'silent' || 'refused' in asked)
    return force ? without(run, stand, asked) : failed(run, stand, asked)
  const end = { epoch: asked.epoch, seq: asked.end.seq, of: asked.end.epoch }
  return commitStep(run, [promotionTo(stand, ports.clock.now(), 'drain', { end })], stand)
}

async function askOnce({ ports, connect, deadline }: OperationRun): Promise<Asked> {
  const follower = await newFollower(ports, connect, { hasTime: () => ports.clock.now() < deadline })
  if (!follower) return { refused: 'this cluster is no secondary any more' }
  try {
    return await handedOver(follower)
  } catch (error) {
    if (error instanceof LinkSilent) return 'silent'
    if (!(error instanceof LinkRefused)) throw error
    return error.code === 'unavailable' ? 'silent' : { refused: error.message }
  }
}

async function handedOver(follower: Follower): Promise<Asked> {
  const { epoch, line } = await ask(follower)
  const end = await follower.link?.handover({ epoch })
  if (end && end.keyring !== '') await follower.take(end.keyring)
  // an epoch that nothing was committed in ends where the one before it did
  return end
    ? { end, epoch: epochAt(line, end.seq) || end.epoch }
    : { refused: 'this cluster knows no primary' }
}

type Unanswered = Exclude<Asked, { end: HandedOver }>

/** With force it goes on; what the primary has committed besides is named when it comes back. */
function without(run: OperationRun, stand: PromotionStand, asked: Unanswered) {
  const why = asked === 'silent' ? 'fell silent' : `refused: ${asked.refused}`
  const warnings = [...stand.promotion.warnings, `nothing was handed over: the primary ${why}`]
  return commitStep(run, [promotionTo(stand, run.ports.clock.now(), 'drain', { warnings })], stand)
}

async function failed(run: OperationRun, stand: PromotionStand, asked: Unanswered) {
  if (asked === 'silent') throw handoverSilent()
  // it said no: then it has ended nothing for this cluster
  const { askedAt: _, ...promotion } = stand.promotion
  const now = run.ports.clock.now()
  const noted = await commitStep(run, [promotionTo({ ...stand, promotion }, now, 'handover', {})], stand)
  if (noted === AGAIN) return AGAIN
  throw handoverRefused(asked.refused)
}
