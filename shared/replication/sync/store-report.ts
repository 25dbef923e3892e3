import type { Place } from '../../journal/journal.ts'
import type { Report } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { create } from '../../storage/changes.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { keysIn } from './report.ts'

/**
 * The name of a new report: reports sort by the hold of the sync that they belong to. What an attempt wrote that came
 * to nothing keeps a name of its own.
 */
export const reportName = (incarnation: number, random: Buffer): string =>
  `${String(incarnation).padStart(9, '0')}.${random.toString('hex')}`

/** Stores a report, part by part, before anything of it is taken away. @throws where a part could not be stored */
export async function storeReport(
  store: Ports['store'],
  cluster: ClusterRead,
  name: string,
  parts: readonly Report[],
): Promise<void> {
  for (const [index, part] of parts.entries()) {
    const at = key('report', `${name}/${String(index).padStart(4, '0')}-${parts.length}`)
    const stored = await store.commit([create(at, part)], cluster)
    if (stored !== 'done') throw new Error(`${at.sk}, what is to be taken away, is not stored`)
  }
}

/** The keys that a stored report names. */
export async function reportedKeys(store: Ports['store'], name: string): Promise<Place[]> {
  const found = await store.list(partitions('report'), { after: `${name}/` })
  return keysIn(found.filter(({ sk }) => sk.startsWith(`${name}/`)).map(({ data }) => data))
}
