import { randomBytes, randomUUID } from 'node:crypto'
import { callMeter } from '../../shared/adapters/aws/system.ts'
import { dynamoStore } from '../../shared/adapters/aws/table.ts'
import type { Store } from '../../shared/ports.ts'
import { cluster } from './cluster.ts'

Object.assign(process.env, {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
  AWS_ENDPOINT_URL_DYNAMODB: cluster.tap_url,
})

/** The adapter itself, on the tables of the running cluster; its clock can be turned. */
export function tableStore(): { store: Store; clock: { ms: number }; meter: ReturnType<typeof callMeter> } {
  const clock = { ms: Date.now() }
  const meter = callMeter()
  const store = dynamoStore({
    tables: cluster.tables,
    clock: { now: () => clock.ms, sleep: async () => undefined },
    entropy: { bytes: randomBytes, uuid: randomUUID },
    meter,
  })
  return { store, clock, meter }
}
