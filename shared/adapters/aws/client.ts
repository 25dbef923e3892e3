import { NodeHttpHandler } from '@smithy/node-http-handler'

/** Longest a single attempt at our own tables and keys may take, milliseconds (architecture 4). */
const ATTEMPT_MS = 3000
const CONNECT_MS = 1000

/** Settings shared by the clients of our own tables, keys and functions. */
export const ownService = () => ({
  maxAttempts: 3,
  requestHandler: handler(),
})

/** Connections that are kept, and attempts that end. */
export const handler = (requestTimeout = ATTEMPT_MS) =>
  new NodeHttpHandler({ connectionTimeout: CONNECT_MS, requestTimeout, throwOnRequestTimeout: true })
