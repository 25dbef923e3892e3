import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLinkCarrier } from '../../shared/adapters/link/carrier.ts'
import { createPullHandler } from '../../shared/workers/handlers.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

const newPorts = () => createAwsPorts('on-pull', workerDefinitions['on-pull'].uses)
const ports = newPorts()

export const handler = createPullHandler(ports, createLinkCarrier(ports), newPorts())
