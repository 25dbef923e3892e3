import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLinkCarrier } from '../../shared/adapters/link/carrier.ts'
import { createPeerConnector } from '../../shared/replication/secondary/connect.ts'
import { createOperationHandler } from '../../shared/workers/operations.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

const ports = createAwsPorts('on-operation', workerDefinitions['on-operation'].uses)

export const handler = createOperationHandler(ports, createPeerConnector(createLinkCarrier(ports), ports))
