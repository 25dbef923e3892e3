import { readConsoleSettings } from '../../shared/adapters/aws/environment.ts'
import { createConsoleHandler } from '../../shared/http/console.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

/**
 * Handles every request without a route: the console page, if enabled, and path help (`auth/aws?help=1`).
 * Rejects all other requests with the usual error format, and with the checks in the usual order.
 */
export const handler = createConsoleHandler(
  { ...readConsoleSettings(), folder: new URL('./ui/', import.meta.url) },
  createGroupHandler({
    name: 'fallback',
    endpoints: [],
    all: async () => (await import('../../shared/endpoints/all.ts')).endpointGroups,
  }),
)
