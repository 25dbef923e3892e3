/** How a function is told of records. */
export interface Delivery<R> {
  tell(records: readonly R[]): Promise<void>
  retries: number
  bisect: boolean
  /** told of what the function could not take */
  refused(records: readonly R[], error: unknown): void
}

/**
 * Tells a function of records, in their order. What it cannot take after all tries is halved; of a record that it
 * cannot take by itself it is told no more, so that the others come through.
 */
export async function deliver<R>(records: readonly R[], how: Delivery<R>): Promise<void> {
  const { tell, retries, bisect, refused } = how
  let error: unknown
  for (let tries = 0; tries <= retries; tries++) {
    try {
      await tell(records)
      return
    } catch (fault) {
      error = fault
      // halves are tried anew
      if (bisect && records.length > 1) break
    }
  }
  if (!bisect || records.length === 1) return refused(records, error)
  const middle = Math.ceil(records.length / 2)
  await deliver(records.slice(0, middle), how)
  await deliver(records.slice(middle), how)
}
