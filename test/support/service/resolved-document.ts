/**
 * Returns a part of an OpenAPI document in which shared parameters, headers, request bodies and answers
 * replace the references of operations. References to schemas stay.
 */
export function resolveShared<T>(part: T, document: object): T {
  if (Array.isArray(part)) return part.map(one => resolveShared(one, document)) as T
  if (typeof part !== 'object' || part === null) return part
  const { $ref } = part as { $ref?: unknown }
  if (typeof $ref === 'string' && !$ref.startsWith('#/components/schemas/'))
    return resolveShared(openReference($ref, document), document) as T
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, resolveShared(value, document)]),
  ) as T
}

/** Returns the target of a reference, or undefined if the document has no such target. */
export const openReference = (ref: string, document: object): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document)
