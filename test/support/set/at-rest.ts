import type { TableCall } from '../../../shared/adapters/aws/wire/tables.ts'
import { besideRequests } from './beside.ts'
import { type ClusterSet, clusterSet } from './set.ts'
import type { SetSnapshot } from './snapshot.ts'
import type { Process } from './traps.ts'

/** What a function does in a minute, at rest. */
export interface FunctionAtRest {
  invocations: number
  calls: number
  /** units of DynamoDB on demand */
  reads: number
  writes: number
}

/** What a pair at rest does in a minute. */
export interface PairAtRest {
  /** calls of the link: requests to the other cluster's gateway */
  link: Record<string, number>
  /** by cluster and function: `west on-pull` */
  functions: Record<string, FunctionAtRest>
}

const SETTLES_MS = 90_000
const MINUTES = 4

const kilobytes = (value: unknown): number => Math.max(1, Math.ceil(JSON.stringify(value).length / 1024))

/** Read and write units of a call: reads are strong, of items up to 4 KB, and items are as long as their JSON at most. */
function unitsOf({ operation, input }: TableCall): Pick<FunctionAtRest, 'reads' | 'writes'> {
  const lists = Object.values((input['RequestItems'] ?? {}) as Record<string, unknown>)
  if (operation === 'BatchGetItem')
    return { reads: lists.flatMap(one => (one as { Keys: unknown[] }).Keys).length, writes: 0 }
  if (operation === 'Query' || operation === 'Scan') return { reads: 1, writes: 0 }
  const sum = (items: readonly unknown[]) => items.reduce<number>((all, one) => all + kilobytes(one), 0)
  if (operation === 'BatchWriteItem') return { reads: 0, writes: sum(lists.flat()) }
  if (operation === 'TransactWriteItems')
    return { reads: 0, writes: 2 * sum(input['TransactItems'] as unknown[]) }
  return { reads: 0, writes: operation === 'PutItem' ? kilobytes(input['Item']) : 1 }
}

/** Counts what two clusters do while nobody writes, over some minutes of their clock. */
export async function pairAtRest(from: SetSnapshot): Promise<PairAtRest> {
  const functions = new Map<string, FunctionAtRest>()
  const seen = new Set<number>()
  const onCall = (call: TableCall, { id, cluster, name }: Process): void => {
    const key = `${cluster} ${name.startsWith('link/') ? 'link' : name}`
    const known = functions.get(key) ?? { invocations: 0, calls: 0, reads: 0, writes: 0 }
    const { reads, writes } = unitsOf(call)
    functions.set(key, {
      invocations: known.invocations + (seen.has(id) ? 0 : 1),
      calls: known.calls + 1,
      reads: known.reads + reads,
      writes: known.writes + writes,
    })
    seen.add(id)
  }
  const set: ClusterSet = await clusterSet(['east', 'west'], { from, memory: true, aws: true, onCall })
  const end = besideRequests(set)
  await set.clock.sleep(SETTLES_MS)
  functions.clear()
  const before = set.net.calls.length
  await set.clock.sleep(MINUTES * 60_000)
  const link: Record<string, number> = {}
  for (const { method } of set.net.calls.slice(before)) link[method] = (link[method] ?? 0) + 1 / MINUTES
  const perMinute = [...functions].map(([name, { invocations, calls, reads, writes }]) => [
    name,
    {
      invocations: invocations / MINUTES,
      calls: calls / MINUTES,
      reads: reads / MINUTES,
      writes: writes / MINUTES,
    },
  ])
  await end()
  return { link, functions: Object.fromEntries(perMinute) }
}
