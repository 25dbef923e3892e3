/** Milliseconds that a single attempt of a call to our own tables and keys may take. */
export const ATTEMPT_TIMEOUT_MS = 3000

/** Milliseconds that a call to this service's own tables and keys may take, with all its attempts and pauses. */
export const CALL_TIMEOUT_MS = 10_000

/**
 * Maximum size of a service's answer, bytes. DynamoDB's largest answer has 16 MB of items, which are longer in JSON.
 */
export const MAX_ANSWER_BYTES = 32 * 2 ** 20

/** Milliseconds that connecting may take. */
export const CONNECT_TIMEOUT_MS = 1000

/** Maximum milliseconds before the first retry of a call to a service. */
export const FIRST_RETRY_PAUSE_MS = 50

/** Maximum milliseconds before the first retry of a call to the tables. */
export const FIRST_TABLES_PAUSE_MS = 25

/** Attempts of a call to our own tables and keys. */
export const MAX_ATTEMPTS = 3
