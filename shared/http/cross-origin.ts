import type { Context } from 'aws-lambda'
import { type FrontAnswer, type FrontEvent, toHttpRequest } from './events.ts'
import { stripApiVersion } from './read-request.ts'

/** The Lambda handler of a group. */
export type GroupHandler = (event: FrontEvent, context: Context) => Promise<FrontAnswer>

/** The paths below `/v1` that the console page of another cluster may read. Both paths are public. */
const READABLE = ['sys/health', 'sys/replication/dr/status']

/**
 * Allows the console page of another cluster to read two responses. The console page sends no headers of its own,
 * so browsers send no preflight request.
 * @param origin origin of that page; empty: changes nothing
 */
export const allowReadsFromOrigin = (origin: string, handler: GroupHandler): GroupHandler =>
  origin === ''
    ? handler
    : async (event, context) => {
        const answer = await handler(event, context)
        const { method, path, headers } = toHttpRequest(event, 0)
        if (method !== 'GET' || !READABLE.includes(stripApiVersion(path))) return answer
        return withHeaders(answer, {
          vary: 'Origin',
          ...(headers['origin'] === origin ? { 'access-control-allow-origin': origin } : {}),
        })
      }

const withHeaders = (answer: FrontAnswer, more: Readonly<Record<string, string>>): FrontAnswer => ({
  ...answer,
  headers: { ...answer.headers, ...more },
  ...(answer.multiValueHeaders && {
    multiValueHeaders: {
      ...answer.multiValueHeaders,
      ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, [value]])),
    },
  }),
})
