import { consoleSettings } from '../../shared/adapters/aws/environment.ts'
import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLazyCarrier } from '../../shared/adapters/link/lazy-carrier.ts'
import { usesOf } from '../../shared/api/endpoint.ts'
import { replicationGroup } from '../../shared/endpoints/replication.ts'
import { allowReadsFrom } from '../../shared/http/cross-origin.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

const carryTo = createLazyCarrier(() => ports)
const ports: ReturnType<typeof awsPorts> = awsPorts(
  'replication',
  usesOf(replicationGroup),
  undefined,
  undefined,
  carryTo,
)

export const handler = allowReadsFrom(consoleSettings().origin, groupHandler(replicationGroup, ports))
