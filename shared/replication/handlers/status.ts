import { type AlwaysServedCall, answer, type CallOutcome, dataAnswer } from '../../api/call.ts'
import { readStatusFacts } from '../status/look.ts'
import { buildDrStatus } from '../status/status.ts'

/** Performance replication does not exist, so its status is always `disabled`. */
const performance = { mode: 'disabled' }

/** Handles GET sys/replication/dr/status. */
export const showDrStatus = async (call: AlwaysServedCall): Promise<CallOutcome> =>
  answer(dataAnswer(buildDrStatus(await readStatusFacts(call))))

/** Handles GET sys/replication/performance/status, which always answers `disabled`. */
export const showPerformanceStatus = (): CallOutcome => answer(dataAnswer(performance))

/** Handles GET sys/replication/status, which most clients use: shows both kinds of replication. */
export const showReplicationStatus = async (call: AlwaysServedCall): Promise<CallOutcome> =>
  answer(dataAnswer({ dr: buildDrStatus(await readStatusFacts(call)), performance }))
