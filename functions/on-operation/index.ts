import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { linkCarrier } from '../../shared/adapters/link/carrier.ts'
import { connectBy } from '../../shared/replication/secondary/connect.ts'
import { operationHandler } from '../../shared/workers/operations.ts'
import { workers } from '../../shared/workers/workers.ts'

const ports = awsPorts('on-operation', workers['on-operation'].uses)

export const handler = operationHandler(ports, connectBy(linkCarrier(ports), ports))
