/** Length of a generation, seconds. Items that expire in the same one are summed together, and later forgotten together. */
const GENERATION_SECONDS = 4 * 24 * 3600
/** Seconds between the end of a generation and the moment at which the engine may delete its items. */
const DELETION_MARGIN_SECONDS = 3600
/** An item that expires later than this after its write belongs to no generation. */
const LONGEST_IN_GENERATION_SECONDS = 36 * 24 * 3600

/**
 * The generation of an item: the number of the period by whose end it has certainly expired.
 * @param expires epoch seconds; absent: never
 * @param now epoch seconds, of the write
 * @returns null if it belongs to none and is summed for good: it never expires, or too late
 */
export const generationOf = (expires: number | undefined, now: number): number | null =>
  expires === undefined || expires - now > LONGEST_IN_GENERATION_SECONDS
    ? null
    : Math.ceil(expires / GENERATION_SECONDS)

/** Whether a generation has ended, and so no longer counts on any cluster. */
export const hasEnded = (generation: number, now: number): boolean => generation * GENERATION_SECONDS <= now

/** The newest generation that no longer counts: sums and hashes made now leave it out. */
export const lastEndedGeneration = (now: number): number => Math.floor(now / GENERATION_SECONDS)

/** Epoch seconds from which on the engine may delete the items of a generation. */
export const ttlOf = (generation: number): number => generation * GENERATION_SECONDS + DELETION_MARGIN_SECONDS

/** The generation to which a time for the engine's own deletion belongs. */
export const generationOfTtl = (ttl: number): number => (ttl - DELETION_MARGIN_SECONDS) / GENERATION_SECONDS

const currentGeneration = (now: number): number => Math.ceil(now / GENERATION_SECONDS)

/** Whether a generation ended so long ago that it counts by no cluster's clock: nothing is added to its sums. */
export const isForgotten = (generation: number, now: number): boolean =>
  generation <= currentGeneration(now) - 2

const DROPPED = 9
/** Over how many updates of a bucket the removals are spread: names are most of an update's cost, so each has only some. */
const SPREAD = 3

/**
 * Which of the newest ended generations an update of a bucket removes the sums of.
 * @param turn any number that differs from update to update
 */
export const listGenerationsToDrop = (now: number, turn: number): number[] =>
  Array.from({ length: DROPPED }, (_, index) => currentGeneration(now) - 2 - index).filter(
    generation => (generation + turn) % SPREAD === 0,
  )
