/** Longest a single attempt at our own tables and keys may take, milliseconds. */
export const ATTEMPT_MS = 3000

/** Longest that connecting may take, milliseconds. */
export const CONNECT_MS = 1000

/** Before the first repetition of a call to a service, at most, milliseconds; the tables are asked again sooner. */
export const PAUSE_MS = 50

/** Attempts at a call to our own tables and keys. */
export const MOST_ATTEMPTS = 3
