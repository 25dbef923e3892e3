/*
 * Milliseconds after which a test step counts as hung. The limit is longer than steps take on a machine with
 * forty times as much work as it can do. Tests wait for conditions, so the limit ends only waits whose
 * condition never becomes true.
 */

/** Time limit of a test and of its preparation. */
export const TEST_HUNG_MS = 1_800_000
/**
 * Time limit of a block that a test pastes. The runbooks' shell function `ask` gives up after ten minutes and
 * prints why.
 */
export const BLOCK_HUNG_MS = 720_000
