import { readEnvironment } from '../../shared/adapters/aws/environment.ts'
import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createClusterApi } from '../../shared/adapters/cluster-api.ts'
import { createDrillHandler } from '../../shared/workers/drills.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

const environment = readEnvironment()
const { policy, peer } = environment.drill

export const handler = createDrillHandler(
  createAwsPorts('on-drill', workerDefinitions['on-drill'].uses, environment),
  peer ? { policy, ask: createClusterApi({ own: environment.apiAddress, peer }) } : undefined,
)
