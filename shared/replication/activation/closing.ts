/** Seconds between `close` and `wipe`: whoever read the cluster record before has stopped writing by it then. */
export const CLOSING_S = 30
