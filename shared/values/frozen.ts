/** The same value, of which nothing can be changed any more. @param value what JSON can say */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const name in value) frozen(value[name])
  return Object.freeze(value)
}
