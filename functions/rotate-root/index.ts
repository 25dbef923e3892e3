import { rotateRootGroup } from '../../shared/endpoints/rotate-root.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(rotateRootGroup)
