import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Change } from '../../../storage/changes.ts'
import { itemKindSpec } from '../../../storage/kinds.ts'
import {
  type ItemWrite,
  newRevision,
  requireBelowJournal,
  tableNameOf,
  toItemWrite,
} from '../../../storage/requests.ts'
import { CONFLICT_RESULT, ok, type Result } from '../../../values/result.ts'
import { type CommitChanges, writeTimeoutMs } from './commit.ts'
import { MAX_STORAGE_TRIES, retryWhileBusy, type StorageEngine } from './engine.ts'
import { toWriteFault } from './faults.ts'

const ASKING = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const

/** One write of `TransactWriteItems`. */
export type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number]

/** Returns the write as an item of `TransactWriteItems`. */
export const toTransactItem = ({ kind, input }: ItemWrite): TransactItem => ({ [kind]: input })

/** Makes a put return the item that refused it, so that `write` can recognise its own earlier put. */
const askForItem = (write: ItemWrite): ItemWrite =>
  write.kind === 'Put' ? { ...write, input: { ...write.input, ...ASKING } } : write

/**
 * Reports whether a repeated change is recognised without a token: a put is refused by an item with its own revision,
 * and after `removeItemUnlessChanged` there is nothing more to delete.
 */
const isEvident = ({ kind, expected }: Change): boolean =>
  kind === 'put'
    ? expected !== 'any'
    : kind === 'delete' && typeof expected === 'object' && !!expected.orAbsent

/**
 * Writes changes while no journal is kept. No element changes an item that a journaled commit has written, because
 * the caller may have read the record before the journal began.
 */
export function createUnjournaledWriter(engine: StorageEngine): CommitChanges {
  const { tables, entropy, meter, send, seconds, get } = engine

  const elementOf = (change: Change, rev: string, since: string | undefined): ItemWrite => {
    const write = askForItem(toItemWrite(change, rev, tables, seconds()))
    return itemKindSpec(change.key.kind).table === 'data' ? requireBelowJournal(write, since) : write
  }

  /**
   * Sends the writes of a commit. A single change is one conditional write. Several changes are one transaction,
   * without a token if all of them are evident. A transaction with a token is also used to delete a single item
   * that must be unchanged since it was read: the client may repeat a request whose answer was lost, and only the
   * token tells such a repetition from a conflict.
   * @param token absent: all changes are evident
   */
  async function write(
    changes: readonly Change[],
    writes: readonly ItemWrite[],
    { rev, token, ms }: { rev: string; token: string | undefined; ms: number },
  ): Promise<Result<'done' | 'conflict', 'conflict'>> {
    const only = writes.length === 1 ? writes[0] : undefined
    try {
      if (only?.kind === 'Put') await send('PutItem', only.input, { ms })
      else if (only?.kind === 'Update') await send('UpdateItem', only.input, { ms })
      else if (only && (!token || changes[0]?.expected === 'any'))
        await send('DeleteItem', only.input, { ms })
      else {
        const input = { TransactItems: writes.map(toTransactItem), ClientRequestToken: token }
        await send('TransactWriteItems', input, { ms })
      }
      return ok('done')
    } catch (error) {
      const failure = toWriteFault(error)
      if (failure.kind === 'busy') return CONFLICT_RESULT
      // The client repeats a request whose answer was lost. After a lost answer, the item that refused the write is
      // the item that the same commit wrote.
      if (failure.items.some(item => (item['rev'] as { S?: string } | undefined)?.S === rev))
        return ok('done')
      return ok(only?.kind === 'Update' ? await readCountOutcome(changes, rev) : 'conflict')
    }
  }

  // The grant for counting lists the attributes that a request may name, so an update cannot request the whole item
  // that refused it.
  async function readCountOutcome(changes: readonly Change[], rev: string): Promise<'done' | 'conflict'> {
    const keys = changes.map(({ key }) => ({ table: tableNameOf(tables, key), pk: key.pk, sk: key.sk }))
    const [item] = (await get(keys)).values()
    return item?.['rev'] === rev ? 'done' : 'conflict'
  }

  return async (changes, cluster, { tries: most = MAX_STORAGE_TRIES }) => {
    const rev = newRevision(entropy)
    const writes = changes.map(change => elementOf(change, rev, cluster.record.journalStart))
    const token = changes.every(isEvident) ? undefined : entropy.uuid()
    return retryWhileBusy(
      engine,
      () => {
        const ms = writeTimeoutMs(engine, cluster)
        meter.count('dynamodb')
        return write(changes, writes, { rev, token, ms })
      },
      most,
    )
  }
}
