import { listsGroup } from '../../shared/endpoints/lists.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(listsGroup)
