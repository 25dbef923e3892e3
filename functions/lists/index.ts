import { listsGroup } from '../../shared/endpoints/lists.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(listsGroup)
