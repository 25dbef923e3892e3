import { answer, type Call, data, type Outcome } from '../../api/call.ts'
import { statusOf } from './status.ts'

const facts = ({ cluster, now }: Call) => ({ record: cluster?.record, now })

/** There is no performance replication: what asks for it is told that it is off. */
const performance = { mode: 'disabled' }

/** GET sys/replication/dr/status */
export const showDrStatus = (call: Call): Outcome => answer(data(statusOf(facts(call))))

/** GET sys/replication/performance/status */
export const showPerformanceStatus = (): Outcome => answer(data(performance))

/** GET sys/replication/status: of both kinds, as most clients ask */
export const showStatus = (call: Call): Outcome => answer(data({ dr: statusOf(facts(call)), performance }))
