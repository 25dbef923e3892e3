import type { Change } from '../../../storage/changes.ts'
import { keyOf } from '../../../storage/changes.ts'
import { specOf } from '../../../storage/kinds.ts'
import { belowJournal, newRevision, tableOf, toWrite, type WriteItem } from '../../../storage/requests.ts'
import { CONFLICT, ok, type Result } from '../../../values/result.ts'
import { retrying } from '../../../values/retrying.ts'
import { type Commit, lastMoment } from './commit.ts'
import { type Engine, STORAGE_TRIES } from './engine.ts'
import { busy, failureOf } from './faults.ts'

const ASKING = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const

/** A write that is told what is in its way. */
const askingForItems = (write: WriteItem) => ('Put' in write ? { Put: { ...write.Put, ...ASKING } } : write)

/**
 * Whether a change that was done tells so when it is asked for again: what it put is in the way and has its revision, or
 * there is nothing more to delete.
 */
const isEvident = (change: Change): boolean =>
  'put' in change
    ? change.expected !== 'any'
    : 'delete' in change && typeof change.expected === 'object' && !!change.expected.orAbsent

/**
 * Writing while no journal is kept. No element touches what a journaled commit has written: somebody may have read
 * the record before a journal was begun.
 */
export function plainWriter(engine: Engine): Commit {
  const { tables, entropy, meter, send, pause, seconds, get } = engine

  const elementOf = (change: Change, rev: string, since: string | undefined): WriteItem => {
    const write = toWrite(change, rev, tables, seconds())
    return specOf(keyOf(change).kind).table === 'data' ? belowJournal(write, since) : write
  }

  /**
   * A single change is one conditional write, and all that are evident are a transaction without a token. Others are
   * one with a token, a single deletion of an item as it was read among them: the wire may repeat a request whose
   * answer was lost, and only the token tells such a repetition from a conflict.
   * @param token absent: all are evident
   */
  async function write(
    changes: readonly Change[],
    writes: readonly WriteItem[],
    { rev, token, ms }: { rev: string; token: string | undefined; ms: number },
  ): Promise<Result<'done' | 'conflict', 'conflict'>> {
    const [only, ...others] = writes
    const [change] = changes
    const single = others.length === 0
    try {
      if (single && only && 'Put' in only) {
        await send('PutItem', { ...only.Put, ...ASKING }, { ms })
      } else if (single && only && 'Delete' in only && (!token || change?.expected === 'any')) {
        await send('DeleteItem', only.Delete, { ms })
      } else if (single && only && 'Update' in only) {
        await send('UpdateItem', only.Update, { ms })
      } else {
        const input = { TransactItems: writes.map(askingForItems), ClientRequestToken: token }
        await send('TransactWriteItems', input, { ms })
      }
      return ok('done')
    } catch (error) {
      const failure = failureOf(error)
      if (failure === 'again') return CONFLICT
      // the wire repeats a request whose answer was lost: then the item in the way is the one it wrote
      if (failure.found.some(item => (item['rev'] as { S?: string } | undefined)?.S === rev))
        return ok('done')
      return ok(single && only && 'Update' in only ? await counted(changes, rev) : 'conflict')
    }
  }

  // The IAM grant for counting lists the attributes that a request may name, so an update cannot ask for the whole item
  // that was in its way.
  async function counted(changes: readonly Change[], rev: string): Promise<'done' | 'conflict'> {
    const keys = changes.map(keyOf).map(key => ({ table: tableOf(tables, key), pk: key.pk, sk: key.sk }))
    const [item] = (await get(keys)).values()
    return item?.['rev'] === rev ? 'done' : 'conflict'
  }

  return async (changes, cluster, { tries: most = STORAGE_TRIES }) => {
    const rev = newRevision(entropy)
    const writes = changes.map(change => elementOf(change, rev, cluster.record.since))
    const token = changes.every(isEvident) ? undefined : entropy.uuid()
    const result = await retrying({ tries: most, pause }, async () => {
      const ms = lastMoment(engine, cluster)
      meter.count('dynamodb')
      return write(changes, writes, { rev, token, ms })
    })
    if (!result.ok) throw busy()
    return result.value
  }
}
