/** Returns the names of all fields that a schema accepts, at any depth. */
export function fieldsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { entries = {}, options = [], item, wrapped, pipe = [] } = schema as Record<string, object>
  const inside = [...(options as object[]), item, wrapped, ...(pipe as object[]).slice(1)].flatMap(fieldsIn)
  return [...Object.entries(entries).flatMap(([name, one]) => [name, ...fieldsIn(one)]), ...inside]
}
