import { tidyGroup } from '../../shared/endpoints/tidy.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(tidyGroup)
