import { putItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { runPromotionChecks } from '../promotion/decide.ts'
import { gatherPromotionFacts } from '../promotion/facts.ts'
import type { ConnectToPeer } from '../secondary/connect.ts'
import type { FollowerPorts } from '../secondary/follower.ts'
import { describeReadinessBasis } from './basis.ts'

/** Milliseconds to wait for the primary; short, because heartbeats wait meanwhile. */
const PRIMARY_TIMEOUT_MS = 3000

/**
 * Checks whether a promotion of this secondary would succeed, by the promotion's own rules: every ten minutes, and
 * after each change of its role or of its contact with the primary. The worker stores the result of the trial for
 * status, and logs it; an alarm counts refusals. During a role change the readiness trial does nothing. The
 * function catches all errors.
 */
export async function testReadinessRegularly(ports: FollowerPorts, connect: ConnectToPeer): Promise<void> {
  await tryReadiness(ports, connect).catch((error: unknown) =>
    ports.log.warn('readiness could not be checked', { error: String(error) }),
  )
}

async function tryReadiness(ports: FollowerPorts, connect: ConnectToPeer): Promise<void> {
  const { store, journal, clock, log } = ports
  const readAt = clock.now()
  const [[cluster, last, contact], head] = await Promise.all([
    store.read([key('cluster'), key('readiness'), key('contact')]),
    journal.head(),
  ])
  const record = cluster?.data
  if (record?.mode !== 'secondary' || record.operation !== undefined) return
  const basis = describeReadinessBasis({ record, contact: contact?.data, head }, readAt)
  if (last?.data.basis === basis && Math.abs(readAt - last.data.at) < bounds.READINESS_MS) return
  const facts = await gatherPromotionFacts({ ports, connect, deadline: readAt + PRIMARY_TIMEOUT_MS }, record)
  const found = runPromotionChecks(facts).filter(({ text }) => text !== undefined)
  const refusedBy = found.map(({ name }) => name)
  await store.commit([putItem(key('readiness'), { at: readAt, refusedBy, basis })], { record, readAt })
  const line = { refused_by: refusedBy, texts: found.map(({ text }) => text) }
  const write = found.length > 0 ? log.warn : log.info
  write('readiness', line, { NotReady: found.length > 0 ? 1 : 0 })
}
