import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLinkCarrier } from '../../shared/adapters/link/carrier.ts'
import { createNotifier } from '../../shared/link/outgoing/notify.ts'
import { createJournalHandler } from '../../shared/workers/handlers.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

const ports = createAwsPorts('on-journal', workerDefinitions['on-journal'].uses)

export const handler = createJournalHandler(ports, createNotifier(ports, createLinkCarrier(ports)))
