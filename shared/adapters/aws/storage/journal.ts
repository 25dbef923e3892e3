import {
  DeleteCommand,
  PutCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { type Cell, sameCell } from '../../../replication/cell.ts'
import type { Head } from '../../../replication/head.ts'
import type { Element, Journal, ScanPage, Transacted } from '../../../replication/journal.ts'
import { type Epoch, epochAt, type Line, type Position } from '../../../replication/position.ts'
import { type StoredItem, tableOf } from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import {
  cellFrom,
  cellItems,
  cellKey,
  conditionOf,
  headFrom,
  headKey,
  headUpdate,
  type Part,
  partKeys,
  partsOf,
  writesOf,
} from './elements.ts'
import { type Engine, nameOf, TRIES } from './engine.ts'
import type { Raw } from './expressions.ts'
import { unjournaled } from './plan.ts'
import { dynamoTree } from './tree.ts'
import { busy, type Failure, failureOf, sent } from './verdict.ts'

/** Items that one call of a scan may read. */
const SCANNED = 500
const WRITES_AT_ONCE = 16

/** The port, but for what writes by the cluster record; and transactions with parts that nobody else makes. */
export type JournalAdapter = Omit<Journal, 'stamp'> & {
  transactParts(parts: readonly Part[]): Promise<Transacted>
}

/** The journal behind the SDK. */
export function dynamoJournal(engine: Engine): JournalAdapter {
  const { tables, meter, documents, seconds, get, pause } = engine
  const inCluster = ({ pk, sk }: { pk: string; sk: string }) => ({ table: tables.cluster, pk, sk })

  /** A single write. Only a condition decides something; a conflict does not. */
  async function single<T>(request: () => Promise<T>): Promise<{ value: T } | Failure> {
    meter.count('dynamodb')
    try {
      return { value: await request() }
    } catch (error) {
      return failureOf(error)
    }
  }

  async function head(): Promise<Head | undefined> {
    const at = inCluster(headKey)
    const found = (await get([at])).get(nameOf(at))
    return found && headFrom(found)
  }

  async function updateHead(input: object): Promise<Head | 'refused'> {
    const all = {
      TableName: tables.cluster,
      Key: headKey,
      UpdateExpression: '',
      ...input,
      ReturnValues: 'ALL_NEW',
    } as const
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) await pause(tries)
      const result = await single(() => documents.send(new UpdateCommand(all)))
      if (result === 'again') continue
      return 'value' in result ? headFrom(result.value.Attributes ?? {}) : 'refused'
    }
    throw busy()
  }

  const moveHead = (expect: Partial<Head> | 'none', next: Partial<Head>) =>
    updateHead(headUpdate(expect, next))

  async function allocate(epoch: Epoch): Promise<{ seq: number; hold: number } | 'refused'> {
    const next = await updateHead({
      UpdateExpression: 'ADD seq :one',
      ConditionExpression: '#mode = :writing AND epoch = :epoch',
      ExpressionAttributeNames: { '#mode': 'mode' },
      ExpressionAttributeValues: { ':one': 1, ':writing': 'writing', ':epoch': epoch },
    })
    return next === 'refused' ? next : { seq: next.seq, hold: next.hold }
  }

  async function whole(found: readonly { position: Position; item: Raw }[]): Promise<Cell[]> {
    const keys = found.flatMap(({ position, item }) => partKeys(position, partsOf(item)).map(inCluster))
    const parts = keys.length > 0 ? await get(keys) : new Map<string, Raw>()
    return found.map(({ position, item }) => {
      const rest = partKeys(position, partsOf(item)).map(key => parts.get(nameOf(inCluster(key))))
      return cellFrom(position, item, rest as Raw[])
    })
  }

  async function cells(line: Line, after: number, to: number): Promise<(Cell | undefined)[]> {
    const positions = Array.from({ length: Math.max(0, to - after) }, (_, index) => {
      const seq = after + 1 + index
      return { epoch: epochAt(line, seq), seq }
    })
    const items = await get(positions.map(position => inCluster(cellKey(position))))
    const found = positions.flatMap(position => {
      const item = items.get(nameOf(inCluster(cellKey(position))))
      return item ? [{ position, item }] : []
    })
    const bySeq = new Map((await whole(found)).map(cell => [cell.seq, cell]))
    return positions.map(({ seq }) => bySeq.get(seq))
  }

  async function putCell(cell: Cell): Promise<'done' | 'conflict' | Cell> {
    const items = cellItems(cell)
    const result =
      items.length === 1
        ? await single(() =>
            documents.send(
              new PutCommand({
                TableName: tables.cluster,
                Item: items[0],
                ConditionExpression: 'attribute_not_exists(pk)',
              }),
            ),
          )
        : await transact([{ cell }])
    if (result === 'again' || result === 'conflict') return 'conflict'
    if (result === 'done' || 'value' in result) return 'done'
    const [there] = await cells([[cell.epoch, 0]], cell.seq - 1, cell.seq)
    if (!there) return 'conflict'
    return sameCell(there, cell) ? 'done' : there
  }

  const transact = (elements: readonly Element[]): Promise<Transacted> => transactParts(elements)

  async function transactParts(elements: readonly Part[]): Promise<Transacted> {
    const writes = elements.map(element => writesOf(element, tables, seconds()))
    const owner = writes.flatMap((list, index) => list.map(() => index))
    const result = await single(() =>
      documents.send(new TransactWriteCommand({ TransactItems: writes.flat() })),
    )
    if (result === 'again') return 'conflict'
    if ('value' in result) return 'done'
    return { condition: [...new Set(result.condition.map(index => owner[index] ?? 0))] }
  }

  async function raw(places: Parameters<Journal['raw']>[0]): Promise<(StoredItem | undefined)[]> {
    const keys = places.map(place => ({ table: tableOf(tables, place), pk: place.pk, sk: place.sk }))
    const found = await get(keys)
    return keys.map(key => found.get(nameOf(key)) as StoredItem | undefined)
  }

  const scan: Journal['scan'] = async ({ index, of, from }) => {
    meter.count('dynamodb')
    const page = await sent(
      documents.send(
        new ScanCommand(
          defined({
            TableName: tables.data,
            ConsistentRead: true,
            Segment: index,
            TotalSegments: of,
            Limit: SCANNED,
            ExclusiveStartKey: from,
          }),
        ),
      ),
    )
    const next = page.LastEvaluatedKey as ScanPage['next']
    return defined({ items: (page.Items ?? []) as unknown as StoredItem[], next })
  }

  /** A plain write of one item, again while others write to it. @returns whether it took place */
  async function insist(request: () => Promise<unknown>): Promise<boolean> {
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) await pause(tries)
      const result = await single(request)
      if (result !== 'again') return 'value' in result
    }
    throw busy()
  }

  const wipe: Journal['wipe'] = (items, life) =>
    countOf(items, place => {
      const { pk, sk } = place
      const input = { TableName: tableOf(tables, place), Key: { pk, sk }, ...conditionOf({ notOf: life }) }
      return insist(() => documents.send(new DeleteCommand(input)))
    })

  const unstamp: Journal['unstamp'] = items =>
    countOf(items, item => {
      const { rev, pos } = item
      const input = {
        TableName: tableOf(tables, item),
        Item: unjournaled(item),
        ...conditionOf({ rev, ...(pos === undefined ? {} : { pos }) }),
      }
      return insist(() => documents.send(new PutCommand(input)))
    })

  return {
    head,
    moveHead,
    allocate,
    cells,
    putCell,
    transact,
    transactParts,
    unstamp,
    raw,
    scan,
    wipe,
    ...dynamoTree(engine),
  }
}

/** Does something with each element, sixteen at a time. @returns for how many it came true */
async function countOf<T>(elements: readonly T[], work: (element: T) => Promise<boolean>): Promise<number> {
  let count = 0
  for (let at = 0; at < elements.length; at += WRITES_AT_ONCE) {
    const results = await Promise.all(elements.slice(at, at + WRITES_AT_ONCE).map(work))
    count += results.filter(Boolean).length
  }
  return count
}
