/** Milliseconds since a moment; 0 where clocks differ and the moment is still to come. */
export const ageSince = (at: number, now: number): number => Math.max(0, now - at)
