import { mountsGroup } from '../../shared/endpoints/mounts.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(mountsGroup)
