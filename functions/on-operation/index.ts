import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLinkCarrier } from '../../shared/adapters/link/carrier.ts'
import { connectVia } from '../../shared/replication/secondary/connect.ts'
import { operationHandler } from '../../shared/workers/operations.ts'
import { workers } from '../../shared/workers/workers.ts'

const ports = createAwsPorts('on-operation', workers['on-operation'].uses)

export const handler = operationHandler(ports, connectVia(createLinkCarrier(ports), ports))
