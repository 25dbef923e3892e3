/**
 * Length of a generation, seconds. Items that expire in the same generation are summed together and forgotten
 * together.
 */
const GENERATION_SECONDS = 4 * 24 * 3600
/** Seconds between the end of a generation and the time at which DynamoDB may delete its items. */
const DELETION_MARGIN_SECONDS = 3600
/** Seconds: an item that expires later than this after its write belongs to no generation. */
const LONGEST_IN_GENERATION_SECONDS = 36 * 24 * 3600

/**
 * Returns the generation of an item: the number of the four-day period by whose end the item has expired.
 * @param expires epoch seconds; absent: the item never expires
 * @param now epoch seconds of the write
 * @returns null when the item never expires, or expires too late: its leaf is in the permanent sum
 */
export const generationOfExpiry = (expires: number | undefined, now: number): number | null =>
  expires === undefined || expires - now > LONGEST_IN_GENERATION_SECONDS
    ? null
    : Math.ceil(expires / GENERATION_SECONDS)

/**
 * Reports whether a generation has ended. Every cluster ignores the items of an ended generation in sums and
 * hashes.
 */
export const hasGenerationEnded = (generation: number, now: number): boolean =>
  generation * GENERATION_SECONDS <= now

/** Returns the newest generation that has ended. Sums and hashes computed now omit this generation. */
export const lastEndedGeneration = (now: number): number => Math.floor(now / GENERATION_SECONDS)

/** Returns the epoch second from which DynamoDB may delete the items of a generation. */
export const ttlOfGeneration = (generation: number): number =>
  generation * GENERATION_SECONDS + DELETION_MARGIN_SECONDS

/** Returns the generation of an item from its DynamoDB time to live. */
export const generationOfTtl = (ttl: number): number => (ttl - DELETION_MARGIN_SECONDS) / GENERATION_SECONDS

const currentGeneration = (now: number): number => Math.ceil(now / GENERATION_SECONDS)

/**
 * Reports whether a generation ended so long ago that it counts by no cluster's clock. Nothing is added to the sums
 * of such a generation any more.
 */
export const isGenerationForgotten = (generation: number, now: number): boolean =>
  generation <= currentGeneration(now) - 2

// How many of the newest forgotten generations are removed.
const DROPPED = 9
/**
 * Updates of a bucket over which the removals are spread. Each update of a bucket removes a third of the forgotten
 * generations, because attribute names are most of the cost of an update.
 */
const SPREAD = 3

/**
 * Returns the forgotten generations whose sums an update of a bucket removes.
 * @param turn any number that differs from update to update
 */
export const listGenerationsToDrop = (now: number, turn: number): number[] =>
  Array.from({ length: DROPPED }, (_, index) => currentGeneration(now) - 2 - index).filter(
    generation => (generation + turn) % SPREAD === 0,
  )
