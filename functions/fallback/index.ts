import { groupHandler } from '../../shared/http/lambda.ts'

/** Everything that no route takes: refused with the same envelope, and in the same order, as everywhere. */
export const handler = groupHandler({ name: 'fallback', endpoints: [] })
