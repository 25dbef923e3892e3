import { fromWireItem } from '../../../shared/adapters/aws/wire/values.ts'
import { type Terms, updatedBy } from '../tables/expression.ts'
import { batchIn } from '../tables/memory-engine.ts'
import type { WireItem } from '../tables/wire-values.ts'
import type { TableWrite } from './transport.ts'

/** An item by its attributes. Numbers that exceed the safe integers are `bigint`. */
export type RawItem = Readonly<Record<string, unknown>>

/** The change of one item. */
export interface ItemChange {
  readonly table: string
  readonly pk: string
  readonly sk: string
  readonly before: RawItem | undefined
  readonly after: RawItem | undefined
}

interface Written extends Terms {
  TableName: string
  Item?: WireItem
  Key?: WireItem
  UpdateExpression?: string
}

/** Keeps a copy of the tables after every effective write, which checks read without the engine. */
export function tableMirror() {
  const tables = new Map<string, Map<string, { wire: WireItem; item: RawItem }>>()

  function write(written: Written): ItemChange {
    const { TableName, Item, Key = {}, UpdateExpression } = written
    const table = tables.get(TableName) ?? new Map<string, { wire: WireItem; item: RawItem }>()
    tables.set(TableName, table)
    const { pk, sk } = fromWireItem(Item ?? Key, 'rounded') as { pk: string; sk: string }
    const place = `${pk}\n${sk}`
    const before = table.get(place)
    const updated =
      UpdateExpression === undefined ? undefined : updatedBy(UpdateExpression, before?.wire ?? Key, written)
    const wire = Item ?? updated
    const after = wire && fromWireItem(wire, 'rounded')
    if (wire && after) table.set(place, { wire, item: after })
    else table.delete(place)
    return { table: TableName, pk, sk, before: before?.item, after }
  }

  return {
    /** applies a write to the copy @returns the changes of items */
    apply: ({ operation, input }: Pick<TableWrite, 'operation' | 'input'>): ItemChange[] => {
      if (operation === 'BatchWriteItem') return batchIn(input).map(write)
      if (operation !== 'TransactWriteItems') return [write(input as unknown as Written)]
      const { TransactItems } = input as { TransactItems: Record<string, Written>[] }
      return TransactItems.flatMap(one =>
        Object.entries(one).flatMap(([action, written]) =>
          action === 'ConditionCheck' ? [] : [write(written)],
        ),
      )
    },
    /** adds the items from before the first write */
    found: (table: string, items: readonly WireItem[]): ItemChange[] =>
      items.map(Item => write({ TableName: table, Item })),
  }
}
