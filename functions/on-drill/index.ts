import { readEnvironment } from '../../shared/adapters/aws/environment.ts'
import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createClusterApi } from '../../shared/adapters/cluster-api.ts'
import { drillHandler } from '../../shared/workers/drills.ts'
import { workers } from '../../shared/workers/workers.ts'

const environment = readEnvironment()
const { policy, peer } = environment.drill

export const handler = drillHandler(
  createAwsPorts('on-drill', workers['on-drill'].uses, environment),
  peer ? { policy, ask: createClusterApi({ own: environment.apiAddress, peer }) } : undefined,
)
