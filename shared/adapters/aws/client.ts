import { NodeHttpHandler } from '@smithy/node-http-handler'
import { agents, overLivingConnection } from './connections.ts'
import { ATTEMPT_MS, CONNECT_MS, MOST_ATTEMPTS } from './wire/limits.ts'

const limits = { connectionTimeout: CONNECT_MS, requestTimeout: ATTEMPT_MS, throwOnRequestTimeout: true }

/** Settings shared by the SDK's clients of our own services. */
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
