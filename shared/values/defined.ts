/** An object type whose possibly undefined properties are optional instead. */
type Defined<T> = {
  [K in keyof T as MayMiss<T[K]> extends true ? never : K]: T[K]
} & {
  [K in keyof T as MayMiss<T[K]> extends true ? K : never]?: Exclude<T[K], undefined>
}

// a property of type unknown stays required
type MayMiss<V> = unknown extends V ? false : undefined extends V ? true : false

/** Omits `undefined` properties. */
export function defined<const T extends object>(properties: T): Defined<T> {
  const found: Record<string, unknown> = {}
  for (const name of Object.keys(properties)) {
    const value: unknown = properties[name as keyof T]
    if (value !== undefined) setOwnMember(found, name, value)
  }
  return found as Defined<T>
}

/** Sets a member whose name comes from outside. Assigning `__proto__` would replace the prototype. */
export function setOwnMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(object, name, { ...OWN, value })
  else object[name] = value
}

const OWN = { configurable: true, enumerable: true, writable: true }
