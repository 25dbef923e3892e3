import { readConsoleSettings } from '../../shared/adapters/aws/environment.ts'
import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLazyCarrier } from '../../shared/adapters/link/lazy-carrier.ts'
import { usesOf } from '../../shared/api/endpoint.ts'
import { replicationGroup } from '../../shared/endpoints/replication.ts'
import { allowReadsFromOrigin } from '../../shared/http/cross-origin.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

const carryTo = createLazyCarrier(() => ports)
const ports: ReturnType<typeof createAwsPorts> = createAwsPorts(
  'replication',
  usesOf(replicationGroup),
  undefined,
  undefined,
  carryTo,
)

export const handler = allowReadsFromOrigin(
  readConsoleSettings().origin,
  createGroupHandler(replicationGroup, ports),
)
