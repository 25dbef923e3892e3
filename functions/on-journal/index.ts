import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { linkCarrier } from '../../shared/adapters/link/carrier.ts'
import { chase } from '../../shared/link/outgoing/chase.ts'
import { notifier } from '../../shared/link/outgoing/notify.ts'
import { journalHandler } from '../../shared/workers/handlers.ts'
import { workers } from '../../shared/workers/workers.ts'

const ports = awsPorts('on-journal', workers['on-journal'].uses)

const carryTo = linkCarrier(ports.authorities)

export const handler = journalHandler(ports, {
  notify: notifier(ports, carryTo),
  chase: () => chase(ports, carryTo),
})
