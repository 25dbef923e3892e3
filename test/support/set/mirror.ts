import type { TableWrite } from './transport.ts'

/** A value as the engine writes it. */
type Wire = { S?: string; N?: string; BOOL?: boolean; NULL?: true; B?: string; M?: WireItem; L?: Wire[] }
export type WireItem = Record<string, Wire>

/** An item, attribute by attribute; numbers too long for one are `bigint`. */
export type RawItem = Readonly<Record<string, unknown>>

/** What became of one item. */
export interface ItemChange {
  readonly table: string
  readonly pk: string
  readonly sk: string
  readonly before: RawItem | undefined
  readonly after: RawItem | undefined
}

interface Written {
  TableName: string
  Item?: WireItem
  Key?: WireItem
  UpdateExpression?: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: WireItem
}

const numberOf = (text: string): number | bigint =>
  Number.isSafeInteger(Number(text)) || text.includes('.') ? Number(text) : BigInt(text)

function plainOf({ S, N, BOOL, B, M, L }: Wire): unknown {
  if (S !== undefined) return S
  if (N !== undefined) return numberOf(N)
  if (BOOL !== undefined) return BOOL
  if (B !== undefined) return Buffer.from(B, 'base64')
  if (M) return itemIn(M)
  return L ? L.map(plainOf) : null
}

const itemIn = (wire: WireItem): RawItem =>
  Object.fromEntries(Object.entries(wire).map(([name, value]) => [name, plainOf(value)]))

/** The parts of an update expression: `SET #a = :b,…`, `ADD #a :b,…`, `REMOVE #a,…`. */
function updated(item: RawItem, { UpdateExpression = '', ...terms }: Written): RawItem {
  const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = terms
  const nameOf = (term = '') => names[term] ?? term
  const given = (term = '') => plainOf(values[term] ?? { NULL: true })
  const next: Record<string, unknown> = { ...item }
  for (const [, verb, list = ''] of UpdateExpression.matchAll(
    /\b(SET|ADD|REMOVE) (.*?)(?= *\b(?:SET|ADD|REMOVE) |$)/g,
  ))
    for (const part of list.split(',').map(one => one.trim())) {
      const [name, value] = part.split(/ *= *| +/)
      const attribute = nameOf(name)
      if (verb === 'SET') next[attribute] = given(value)
      if (verb === 'ADD')
        next[attribute] = numberOf(
          String(BigInt((next[attribute] ?? 0) as number) + BigInt(given(value) as number)),
        )
      if (verb === 'REMOVE') delete next[attribute]
    }
  return next
}

/** The tables as they are after every write that took effect: what can be looked at without asking the engine. */
export function tableMirror() {
  const tables = new Map<string, Map<string, RawItem>>()
  const tableNamed = (name: string): Map<string, RawItem> => {
    const table = tables.get(name) ?? new Map<string, RawItem>()
    tables.set(name, table)
    return table
  }

  function write(written: Written): ItemChange {
    const { TableName: table } = written
    const { pk, sk } = itemIn(written.Item ?? written.Key ?? {}) as { pk: string; sk: string }
    const place = `${pk}\n${sk}`
    const before = tableNamed(table).get(place)
    const after = written.Item
      ? itemIn(written.Item)
      : written.UpdateExpression === undefined
        ? undefined
        : updated(before ?? { pk, sk }, written)
    if (after) tableNamed(table).set(place, after)
    else tableNamed(table).delete(place)
    return { table, pk, sk, before, after }
  }

  return {
    /** Takes note of a write. @returns what it changed */
    apply: ({ operation, input }: Pick<TableWrite, 'operation' | 'input'>): ItemChange[] => {
      if (operation !== 'TransactWriteItems') return [write(input as unknown as Written)]
      const { TransactItems } = input as { TransactItems: Record<string, Written>[] }
      return TransactItems.flatMap(one =>
        Object.entries(one).flatMap(([action, written]) =>
          action === 'ConditionCheck' ? [] : [write(written)],
        ),
      )
    },
    /** Takes note of items that stood there before anything was written. */
    found: (table: string, items: readonly WireItem[]): ItemChange[] =>
      items.map(Item => write({ TableName: table, Item })),
    items: (table: string): readonly RawItem[] => [...tableNamed(table).values()],
  }
}
