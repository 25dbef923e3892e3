/** Functions that close the parts of a host, in order. */
export type CloseFunctions = (() => Promise<void> | void)[]

/**
 * Closes all parts of a host, even if one part fails to close, because a remaining engine would lock the
 * data. @throws the first error
 */
export async function closeAll(closers: CloseFunctions): Promise<void> {
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
