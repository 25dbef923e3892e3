/** Longest a single attempt at our own tables and keys may take, milliseconds. */
export const ATTEMPT_MS = 3000

/** Longest that a call to our own tables and keys may take with all its attempts and pauses, milliseconds. */
export const CALL_MS = 10_000

/** Largest answer of a service that is read, bytes. DynamoDB's largest is 16 MB of items, which JSON makes longer. */
export const LARGEST_ANSWER = 32 * 2 ** 20

/** Longest that connecting may take, milliseconds. */
export const CONNECT_MS = 1000

/** Before the first repetition of a call to a service, at most, milliseconds. */
export const PAUSE_MS = 50

/** The same for a call to the tables, milliseconds. */
export const TABLES_PAUSE_MS = 25

/** Attempts at a call to our own tables and keys. */
export const MOST_ATTEMPTS = 3
