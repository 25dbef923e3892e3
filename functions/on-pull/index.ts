import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLinkCarrier } from '../../shared/adapters/link/carrier.ts'
import { pullHandler } from '../../shared/workers/handlers.ts'
import { workers } from '../../shared/workers/workers.ts'

const newPorts = () => createAwsPorts('on-pull', workers['on-pull'].uses)
const ports = newPorts()

export const handler = pullHandler(ports, createLinkCarrier(ports), newPorts())
