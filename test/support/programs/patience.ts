/*
 * Milliseconds after which something counts as hung: longer than on a machine with forty times as much work as it can
 * do. Tests wait for conditions. This limit ends only the waits whose condition never becomes true.
 */

/** Limit of a test and of its preparation. */
export const TEST_HUNG_MS = 1_800_000
/** Limit of a block that a test pastes. The runbooks' `ask` gives up after ten minutes and says why. */
export const BLOCK_HUNG_MS = 720_000
