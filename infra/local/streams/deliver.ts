/** How stream records are delivered to a function. */
export interface StreamDelivery<R> {
  tell(records: readonly R[]): Promise<void>
  retries: number
  bisect: boolean
  /** called with records that the function failed to process */
  refused(records: readonly R[], error: unknown): void
}

/**
 * Delivers stream records to a function in order. After all retries a failing batch is halved; a single
 * failing record is dropped, so that the other records are delivered.
 */
export async function deliverStreamRecords<R>(records: readonly R[], how: StreamDelivery<R>): Promise<void> {
  const { tell, retries, bisect, refused } = how
  let error: unknown
  for (let tries = 0; tries <= retries; tries++) {
    try {
      await tell(records)
      return
    } catch (fault) {
      error = fault
      // each half of the batch gets its own retries
      if (bisect && records.length > 1) break
    }
  }
  if (!bisect || records.length === 1) return refused(records, error)
  const middle = Math.ceil(records.length / 2)
  await deliverStreamRecords(records.slice(0, middle), how)
  await deliverStreamRecords(records.slice(middle), how)
}
