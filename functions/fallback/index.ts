import { groupHandler } from '../../shared/http/lambda.ts'

/**
 * Everything that no route takes: refused with the same envelope, and in the same order, as everywhere. Help with the
 * beginnings of paths (`auth/aws?help=1`) comes here too.
 */
export const handler = groupHandler({
  name: 'fallback',
  endpoints: [],
  all: async () => (await import('../../shared/endpoints/all.ts')).groups,
})
