import { DeleteCommand, PutCommand, TransactWriteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { ApiError } from '../../../api/errors.ts'
import type { Store } from '../../../ports.ts'
import { type Change, keyOf } from '../../../storage/changes.ts'
import { isKey, isStorable, tableOf, toWrite, type WriteItem } from '../../../storage/requests.ts'
import { type Engine, TRIES } from './engine.ts'
import { busy, failureOf } from './verdict.ts'

/** A role change waits longer than this between closing the old state and opening the new one. */
const OLDEST_RECORD_MS = 20_000

/** Writing while no journal is kept. */
export function plainWriter({
  tables,
  clock,
  entropy,
  meter,
  documents,
  pause,
  seconds,
  get,
}: Engine): Store['commit'] {
  const commit: Store['commit'] = async (changes, { readAt }, { tries: most = TRIES } = {}) => {
    if (clock.now() - readAt > OLDEST_RECORD_MS) throw busy()
    const rev = entropy.bytes(12).toString('base64url')
    // where nothing can stand, there is nothing to delete
    const wanted = changes.filter(change => !('delete' in change) || isKey(change.delete))
    if (wanted.length === 0) return 'done'
    const writes = wanted.map(change => toWrite(change, rev, tables, seconds()))
    if (!writes.every(isStorable)) throw new ApiError('too_large', 'this is too large to be stored')
    const token = entropy.uuid()
    for (let tries = 0; tries < most; tries++) {
      if (tries > 0) await pause(tries)
      meter.count('dynamodb')
      const result = await write(wanted, writes, rev, token)
      if (result !== 'again') return result
    }
    throw busy()
  }

  /** A single write is a plain conditional one, except a conditional deletion, whose repetition could not be told. */
  async function write(
    changes: readonly Change[],
    writes: readonly WriteItem[],
    rev: string,
    token: string,
  ): Promise<'done' | 'conflict' | 'again'> {
    const [only] = writes
    try {
      if (writes.length === 1 && only && 'Put' in only) {
        await documents.send(new PutCommand({ ...only.Put, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }))
      } else if (writes.length === 1 && only && 'Delete' in only && !only.Delete.ConditionExpression) {
        await documents.send(new DeleteCommand(only.Delete))
      } else if (writes.length === 1 && only && 'Update' in only) {
        await documents.send(new UpdateCommand(only.Update))
      } else {
        await documents.send(
          new TransactWriteCommand({ TransactItems: [...writes], ClientRequestToken: token }),
        )
      }
      return 'done'
    } catch (error) {
      const failure = failureOf(error)
      if (failure === 'again') return failure
      // the SDK repeats a request whose answer was lost: then the item in the way is the one it wrote
      if ((failure.item?.['rev'] as { S?: string } | undefined)?.S === rev) return 'done'
      return writes.length === 1 && only && 'Update' in only ? counted(changes, rev) : 'conflict'
    }
  }

  // The grant to count names the attributes that a request may speak of, so it cannot ask for the item in the way.
  async function counted(changes: readonly Change[], rev: string): Promise<'done' | 'conflict'> {
    const keys = changes.map(keyOf).map(key => ({ table: tableOf(tables, key), pk: key.pk, sk: key.sk }))
    const [item] = (await get(keys)).values()
    return item?.['rev'] === rev ? 'done' : 'conflict'
  }

  return commit
}
