import { createErrorAnswer, type EngineResponse } from './engine-wire.ts'

/** The write or check of one item in a DynamoDB call. */
export interface ConflictingWrite {
  action: 'Put' | 'Update' | 'Delete' | 'ConditionCheck'
  table: string
  pk: string
  sk: string
  /** the revision that the write stores, if any */
  rev?: string
}

type Attributes = Record<string, { S?: string }>
type Written = {
  TableName: string
  Item?: Attributes
  Key?: Attributes
  UpdateExpression?: string
  ExpressionAttributeValues?: Attributes
}

function revisionOf({ Item, UpdateExpression = '', ExpressionAttributeValues = {} }: Written) {
  const name = /\brev = (:\w+)/.exec(UpdateExpression)?.[1] ?? ''
  return (Item?.['rev'] ?? ExpressionAttributeValues[name])?.S
}

const ALONE: Readonly<Record<string, ConflictingWrite['action']>> = {
  PutItem: 'Put',
  UpdateItem: 'Update',
  DeleteItem: 'Delete',
}

/** Returns the items that a DynamoDB call writes or checks, in order. Empty for a read. */
export function listItemWrites(operation: string, input: object): ConflictingWrite[] {
  const write = (action: ConflictingWrite['action'], written: Written): ConflictingWrite => {
    const { pk, sk } = written.Item ?? written.Key ?? {}
    const rev = revisionOf(written)
    const place = { table: written.TableName, pk: pk?.S ?? '', sk: sk?.S ?? '' }
    return { action, ...place, ...(rev === undefined ? {} : { rev }) }
  }
  const alone = ALONE[operation]
  if (alone) return [write(alone, input as Written)]
  if (operation === 'BatchWriteItem') return batchOf(input).map(written => write('Put', written))
  if (operation !== 'TransactWriteItems') return []
  const { TransactItems } = input as {
    TransactItems: Partial<Record<ConflictingWrite['action'], Written>>[]
  }
  return TransactItems.flatMap(one =>
    Object.entries(one).map(([action, written]) => write(action as ConflictingWrite['action'], written)),
  )
}

/** Returns the items that a batch write stores. */
function batchOf(input: object): Written[] {
  const { RequestItems } = input as {
    RequestItems: Record<string, { PutRequest: Pick<Written, 'Item'> }[]>
  }
  return Object.entries(RequestItems).flatMap(([TableName, requests]) =>
    requests.map(({ PutRequest }) => ({ TableName, ...PutRequest })),
  )
}

/** Locked items. DynamoDB rejects another write to a locked item, and so does this imitation. */
export interface Conflicts {
  /** Returns the indexes of the locked items among these writes. */
  findTaken(writes: readonly ConflictingWrite[]): number[]
  /** Locks items. @returns a function that unlocks them */
  take(writes: readonly Place[]): () => void
  clear(): void
}

type Place = Omit<ConflictingWrite, 'action'>

const placeOf = ({ table, pk, sk }: Place): string => JSON.stringify([table, pk, sk])

export function newConflicts(): Conflicts {
  const taken = new Map<string, symbol>()
  return {
    findTaken: writes => writes.flatMap((write, index) => (taken.has(placeOf(write)) ? [index] : [])),
    take: writes => {
      const taker = Symbol('taker')
      const places = writes.map(placeOf)
      for (const place of places) taken.set(place, taker)
      return () => {
        for (const place of places) if (taken.get(place) === taker) taken.delete(place)
      }
    },
    clear: () => taken.clear(),
  }
}

const MESSAGE = 'Transaction is ongoing for the item'

/**
 * Creates the error that DynamoDB returns for a call to locked items.
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
 */
export function conflictError(operation: string, count: number, taken: readonly number[]): object {
  if (operation !== 'TransactWriteItems')
    return { __type: 'com.amazonaws.dynamodb.v20120810#TransactionConflictException', message: MESSAGE }
  const reasons = Array.from({ length: count }, (_, index) =>
    taken.includes(index) ? { Code: 'TransactionConflict', Message: MESSAGE } : { Code: 'None' },
  )
  const codes = reasons.map(({ Code }) => Code).join(', ')
  return {
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
    Message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    CancellationReasons: reasons,
  }
}

/** Creates the answer that DynamoDB returns for a call to locked items. */
export const createConflictAnswer = (
  operation: string,
  count: number,
  taken: readonly number[],
): EngineResponse => createErrorAnswer(400, conflictError(operation, count, taken))
