/**
 * Seconds between the steps `close` and `wipe`. Requests use a cluster record for a shorter time, so no request
 * writes after this wait.
 */
export const CLOSING_WAIT_S = 30
