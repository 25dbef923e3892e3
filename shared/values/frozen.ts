/** The same value, of which nothing can be changed any more. @param value what JSON can say */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) if (typeof part === 'object') frozen(part)
  return Object.freeze(value)
}
