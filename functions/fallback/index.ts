import { consoleSettings } from '../../shared/adapters/aws/environment.ts'
import { serveConsole } from '../../shared/http/console.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

/**
 * Everything that no route takes: the console page, where it is switched on. All else is refused with the same envelope, and
 * in the same order, as everywhere. Help with the beginnings of paths (`auth/aws?help=1`) comes here too.
 */
export const handler = serveConsole(
  { ...consoleSettings(), folder: new URL('./ui/', import.meta.url) },
  groupHandler({
    name: 'fallback',
    endpoints: [],
    all: async () => (await import('../../shared/endpoints/all.ts')).groups,
  }),
)
