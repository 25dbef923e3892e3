import { type AlwaysCall, answer, data, type Outcome } from '../../api/call.ts'
import { readStatusFacts } from '../status/look.ts'
import { statusOf } from '../status/status.ts'

/** There is no performance replication, so its status is always `disabled`. */
const performance = { mode: 'disabled' }

/** Handles GET sys/replication/dr/status. */
export const showDrStatus = async (call: AlwaysCall): Promise<Outcome> =>
  answer(data(statusOf(await readStatusFacts(call))))

/** Handles GET sys/replication/performance/status. */
export const showPerformanceStatus = (): Outcome => answer(data(performance))

/** Handles GET sys/replication/status, which most clients use: shows both kinds of replication. */
export const showStatus = async (call: AlwaysCall): Promise<Outcome> =>
  answer(data({ dr: statusOf(await readStatusFacts(call)), performance }))
