import { setTimeout } from 'node:timers/promises'
import type { TableModel } from '../template/assembly.ts'
import type { LocalEngine } from './engine.ts'

/** Milliseconds between two rounds of the sweeper. */
const SWEEP_PERIOD_MS = 60_000
/**
 * Number of items that the sweeper reads in one call. The engine has one lock and serves no other call during
 * this call.
 */
const AT_ONCE = 100
/**
 * The pause after a call, as a multiple of the call's duration. The pause bounds the sweeper's share of the
 * engine's time for any table size.
 */
const PAUSES = 30

/** Deletes items whose TTL has passed. The engine from npm accepts the TTL setting but never deletes. */
export function startExpirySweeper(
  send: LocalEngine['send'],
  tables: readonly TableModel[],
): { sweep(resting?: Sweeping['resting']): Promise<number>; close(): void } {
  const end = new AbortController()
  const pause = (ms: number) => setTimeout(ms, undefined, { signal: end.signal, ref: false })
  const sweep = async (resting: Sweeping['resting'] = async () => undefined) => {
    let removed = 0
    for (const { name, ttl } of tables) {
      if (ttl) removed += await sweepTable(send, name, { ttl, resting })
    }
    return removed
  }
  const always = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await pause(SWEEP_PERIOD_MS)
      // the next round deletes what a failed round left
      await sweep(worked => pause(PAUSES * worked)).catch(() => 0)
    }
  }
  void always().catch(() => undefined)
  return { sweep, close: () => end.abort() }
}

interface Sweeping {
  /** TTL attribute */
  ttl: string
  /** called after each call to the engine with the duration of the call in milliseconds */
  resting: (worked: number) => Promise<void>
}

async function sweepTable(
  send: LocalEngine['send'],
  TableName: string,
  { ttl, resting }: Sweeping,
): Promise<number> {
  const expired = {
    TableName,
    ExpressionAttributeNames: { '#ttl': ttl },
    ExpressionAttributeValues: { ':now': Math.floor(Date.now() / 1000) },
  }
  const page = { FilterExpression: '#ttl < :now', ProjectionExpression: 'pk, sk', Limit: AT_ONCE, ...expired }
  let removed = 0
  let from: Record<string, unknown> | undefined
  do {
    const began = performance.now()
    const { Items, LastEvaluatedKey } = await send('Scan', { ...page, ExclusiveStartKey: from })
    for (const Key of Items) {
      const isDeleted = await send('DeleteItem', {
        Key,
        ConditionExpression: '#ttl < :now',
        ...expired,
      }).then(
        () => true,
        () => false, // renewed meanwhile
      )
      removed += Number(isDeleted)
    }
    await resting(performance.now() - began)
    from = LastEvaluatedKey
  } while (from)
  return removed
}
