/** How the parts of a host end, in the order in which they end. */
export type Closers = (() => Promise<void> | void)[]

/** Ends all parts, whatever becomes of one of them: an engine that is left behind would hold the data. @throws the first fault */
export async function closeAll(closers: Closers): Promise<void> {
  const faults: unknown[] = []
  for (const one of closers.splice(0)) {
    try {
      await one()
    } catch (fault) {
      faults.push(fault)
    }
  }
  if (faults.length > 0) throw faults[0]
}
