/** Seconds between `close` and `wipe`: requests that have read the earlier cluster record no longer write after that. */
export const CLOSING_S = 30
