import { type AlwaysCall, answer, data, type Outcome } from '../../api/call.ts'
import { readStatusFacts } from '../status/look.ts'
import { statusOf } from '../status/status.ts'

/** There is no performance replication: what asks for it is told that it is off. */
const performance = { mode: 'disabled' }

/** GET sys/replication/dr/status */
export const showDrStatus = async (call: AlwaysCall): Promise<Outcome> =>
  answer(data(statusOf(await readStatusFacts(call))))

/** GET sys/replication/performance/status */
export const showPerformanceStatus = (): Outcome => answer(data(performance))

/** GET sys/replication/status: of both kinds, as most clients ask */
export const showStatus = async (call: AlwaysCall): Promise<Outcome> =>
  answer(data({ dr: statusOf(await readStatusFacts(call)), performance }))
