import { NodeHttpHandler } from '@smithy/node-http-handler'
import { agents, overLivingConnection } from './connections.ts'

/** Longest a single attempt at our own tables and keys may take, milliseconds. */
export const ATTEMPT_MS = 3000
const CONNECT_MS = 1000
export const MOST_ATTEMPTS = 3

const limits = { connectionTimeout: CONNECT_MS, requestTimeout: ATTEMPT_MS, throwOnRequestTimeout: true }

/** Settings shared by the clients of our own tables, keys and functions. */
export const ownService = () => ({
  maxAttempts: MOST_ATTEMPTS,
  requestHandler: requestHandler(),
})

/** Attempts that end, over connections that are kept. For requests that may take effect twice. */
export function requestHandler(): NodeHttpHandler {
  const one = new NodeHttpHandler({ ...limits, httpAgent: agents['http:'], httpsAgent: agents['https:'] })
  const handle = one.handle.bind(one)
  return Object.assign(one, {
    handle: (...given: Parameters<typeof handle>) => overLivingConnection(() => handle(...given)),
  })
}

/** Attempts that end, each over a connection of its own. For a request that must not be sent twice. */
export const onceHandler = () =>
  new NodeHttpHandler({ ...limits, httpAgent: { keepAlive: false }, httpsAgent: { keepAlive: false } })
