import { mountsGroup } from '../../shared/endpoints/mounts.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(mountsGroup)
