/**
 * Seconds between the steps `close` and `wipe`. Requests use a cluster record for a shorter time, so none of them writes
 * after the wait.
 */
export const CLOSING_WAIT_S = 30
