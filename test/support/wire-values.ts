/** A value as the engine writes it. */
export type Wire = {
  S?: string
  N?: string
  BOOL?: boolean
  NULL?: true
  B?: string
  M?: WireItem
  L?: Wire[]
}
export type WireItem = Record<string, Wire>

const numberOf = (text: string): number | bigint =>
  Number.isSafeInteger(Number(text)) || text.includes('.') ? Number(text) : BigInt(text)

/** A value as the SDK gives it. @param number how numbers are read: those too long for one are `bigint` unless told */
function plainValue(wire: Wire, number: (text: string) => unknown = numberOf): unknown {
  const { S, N, BOOL, B, M, L } = wire
  if (S !== undefined) return S
  if (N !== undefined) return number(N)
  if (BOOL !== undefined) return BOOL
  if (B !== undefined) return new Uint8Array(Buffer.from(B, 'base64'))
  if (M) return plainItem(M, number)
  return L ? L.map(one => plainValue(one, number)) : null
}

/** An item, attribute by attribute. */
export function plainItem(wire: WireItem, number?: (text: string) => unknown): Record<string, unknown> {
  const item: Record<string, unknown> = {}
  for (const name in wire) item[name] = plainValue(wire[name] as Wire, number)
  return item
}

/** A value as the SDK sends it, as the adapters have it marshalled: what is undefined is left out. */
function wireValue(value: unknown): Wire {
  if (typeof value === 'string') return { S: value }
  if (typeof value === 'number' || typeof value === 'bigint') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  if (value === null) return { NULL: true }
  if (Array.isArray(value)) return { L: value.filter(one => one !== undefined).map(wireValue) }
  if (value instanceof Uint8Array) return { B: Buffer.from(value).toString('base64') }
  if (typeof value === 'object') return { M: wireItem(value) }
  throw new Error(`a ${typeof value} cannot be stored`)
}

export function wireItem(value: object): WireItem {
  const item: WireItem = {}
  for (const [name, one] of Object.entries(value)) if (one !== undefined) item[name] = wireValue(one)
  return item
}
