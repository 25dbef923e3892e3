import { tidyGroup } from '../../shared/endpoints/tidy.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(tidyGroup)
