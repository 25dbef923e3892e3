import { replicationGroup } from '../../shared/endpoints/replication.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(replicationGroup)
