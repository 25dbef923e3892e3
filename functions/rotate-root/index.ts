import { rotateRootGroup } from '../../shared/endpoints/rotate-root.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(rotateRootGroup)
