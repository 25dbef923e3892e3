import type { Context } from 'aws-lambda'
import { type FrontAnswer, type FrontEvent, requestOf } from './events.ts'
import { stripVersion } from './read-request.ts'

/** The handler of a group. */
export type GroupHandler = (event: FrontEvent, context: Context) => Promise<FrontAnswer>

/** What the console page of another cluster may read, below `/v1`: neither says anything that is not told to everybody. */
const READABLE = ['sys/health', 'sys/replication/dr/status']

/**
 * Lets the console page of another cluster read two answers: browsers keep all others from it. A page asks for them without
 * headers of its own, so that browsers ask nothing beforehand.
 * @param origin of that page; empty: nothing changes
 */
export const allowReadsFrom = (origin: string, handler: GroupHandler): GroupHandler =>
  origin === ''
    ? handler
    : async (event, context) => {
        const answer = await handler(event, context)
        const { method, path, headers } = requestOf(event, 0)
        if (method !== 'GET' || !READABLE.includes(stripVersion(path))) return answer
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
