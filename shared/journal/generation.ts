/** Seconds of a generation: what expires in the same one is summed, and later forgotten, together. */
const GENERATION_SECONDS = 4 * 24 * 3600
/** Seconds between the end of a generation and the moment at which the engine may delete its items. */
const DELETION_MARGIN_SECONDS = 3600
/** What expires later than this after it was written belongs to no generation. */
const LONGEST_IN_GENERATION_SECONDS = 36 * 24 * 3600

/**
 * The generation of an item: the number of the period at whose end it certainly has expired.
 * @param expires epoch seconds; absent: never
 * @param now epoch seconds, of the write
 * @returns null where it is summed for good: it never expires, or too late
 */
export const generationOf = (expires: number | undefined, now: number): number | null =>
  expires === undefined || expires - now > LONGEST_IN_GENERATION_SECONDS
    ? null
    : Math.ceil(expires / GENERATION_SECONDS)

/** Whether a generation counts nowhere any more. */
export const hasEnded = (generation: number, now: number): boolean => generation * GENERATION_SECONDS <= now

/** The newest generation that counts nowhere any more: what sums and hashes were made by. */
export const lastEnded = (now: number): number => Math.floor(now / GENERATION_SECONDS)

/** Epoch seconds from which on the engine may delete the items of a generation. */
export const ttlOf = (generation: number): number => generation * GENERATION_SECONDS + DELETION_MARGIN_SECONDS

/** The generation that a time for the engine's own deletion stands for. */
export const generationOfTtl = (ttl: number): number => (ttl - DELETION_MARGIN_SECONDS) / GENERATION_SECONDS

const current = (now: number): number => Math.ceil(now / GENERATION_SECONDS)

/** Whether a generation ended so long ago that no clock of ours still counts it: nothing is added to its sums. */
export const isForgotten = (generation: number, now: number): boolean => generation <= current(now) - 2

const DROPPED = 9
/** Updates of a bucket over which these are spread: each names some, since names are most of what an update costs. */
const SPREAD = 3

/**
 * Those of the newest forgotten generations whose sums an update of a bucket drops.
 * @param turn any number that differs from update to update
 */
export const toDrop = (now: number, turn: number): number[] =>
  Array.from({ length: DROPPED }, (_, index) => current(now) - 2 - index).filter(
    generation => (generation + turn) % SPREAD === 0,
  )
