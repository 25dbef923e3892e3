/** Names of all fields in what a schema takes, whatever they stand in. */
export function fieldsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { entries = {}, options = [], item, wrapped, pipe = [] } = schema as Record<string, object>
  const inside = [...(options as object[]), item, wrapped, ...(pipe as object[]).slice(1)].flatMap(fieldsIn)
  return [...Object.entries(entries).flatMap(([name, one]) => [name, ...fieldsIn(one)]), ...inside]
}
