import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Change } from '../../../storage/changes.ts'
import { specOf } from '../../../storage/kinds.ts'
import {
  type ItemWrite,
  newRevision,
  requireBelowJournal,
  tableOf,
  toWrite,
} from '../../../storage/requests.ts'
import { CONFLICT, ok, type Result } from '../../../values/result.ts'
import { retry } from '../../../values/retrying.ts'
import { type Commit, writeTimeout } from './commit.ts'
import { type Engine, STORAGE_TRIES } from './engine.ts'
import { busy, toWriteFault } from './faults.ts'

const ASKING = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const

/** One write of `TransactWriteItems`. */
export type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number]

/** Returns the write as an item of `TransactWriteItems`. */
export const transactItem = ({ kind, input }: ItemWrite): TransactItem => ({ [kind]: input })

/** Asks for the item in the way of a put, for `write` to recognise a put of its own. */
const askForItem = (write: ItemWrite): ItemWrite =>
  write.kind === 'Put' ? { ...write, input: { ...write.input, ...ASKING } } : write

/**
 * Reports whether a repeated change is recognised without a token: a put finds its own revision in the way, and for
 * `removeUnlessChanged` there is nothing more to delete.
 */
const isEvident = ({ kind, expected }: Change): boolean =>
  kind === 'put'
    ? expected !== 'any'
    : kind === 'delete' && typeof expected === 'object' && !!expected.orAbsent

/**
 * Writing while no journal is kept. No element touches what a journaled commit has written: somebody may have read
 * the record before a journal was begun.
 */
export function createPlainWriter(engine: Engine): Commit {
  const { tables, entropy, meter, send, pause, seconds, get } = engine

  const elementOf = (change: Change, rev: string, since: string | undefined): ItemWrite => {
    const write = askForItem(toWrite(change, rev, tables, seconds()))
    return specOf(change.key.kind).table === 'data' ? requireBelowJournal(write, since) : write
  }

  /**
   * A single change is one conditional write, and all that are evident are a transaction without a token. Others are
   * one with a token, a single deletion of an item as it was read among them: the wire may repeat a request whose
   * answer was lost, and only the token tells such a repetition from a conflict.
   * @param token absent: all are evident
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
        const input = { TransactItems: writes.map(transactItem), ClientRequestToken: token }
        await send('TransactWriteItems', input, { ms })
      }
      return ok('done')
    } catch (error) {
      const failure = toWriteFault(error)
      if (failure.kind === 'busy') return CONFLICT
      // the wire repeats a request whose answer was lost: then the item in the way is the one it wrote
      if (failure.items.some(item => (item['rev'] as { S?: string } | undefined)?.S === rev))
        return ok('done')
      return ok(only?.kind === 'Update' ? await readCountOutcome(changes, rev) : 'conflict')
    }
  }

  // The IAM grant for counting lists the attributes that a request may name, so an update cannot ask for the whole item
  // that was in its way.
  async function readCountOutcome(changes: readonly Change[], rev: string): Promise<'done' | 'conflict'> {
    const keys = changes.map(({ key }) => ({ table: tableOf(tables, key), pk: key.pk, sk: key.sk }))
    const [item] = (await get(keys)).values()
    return item?.['rev'] === rev ? 'done' : 'conflict'
  }

  return async (changes, cluster, { tries: most = STORAGE_TRIES }) => {
    const rev = newRevision(entropy)
    const writes = changes.map(change => elementOf(change, rev, cluster.record.journalStart))
    const token = changes.every(isEvident) ? undefined : entropy.uuid()
    const result = await retry({ tries: most, pause }, async () => {
      const ms = writeTimeout(engine, cluster)
      meter.count('dynamodb')
      return write(changes, writes, { rev, token, ms })
    })
    if (!result.ok) throw busy()
    return result.value
  }
}
