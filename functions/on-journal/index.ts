import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLinkCarrier } from '../../shared/adapters/link/carrier.ts'
import { createNotifier } from '../../shared/link/outgoing/notify.ts'
import { journalHandler } from '../../shared/workers/handlers.ts'
import { workers } from '../../shared/workers/workers.ts'

const ports = createAwsPorts('on-journal', workers['on-journal'].uses)

export const handler = journalHandler(ports, createNotifier(ports, createLinkCarrier(ports)))
