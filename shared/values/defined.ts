/** An object type whose properties that may be undefined are left out instead. */
type Defined<T> = {
  [K in keyof T as MayMiss<T[K]> extends true ? never : K]: T[K]
} & {
  [K in keyof T as MayMiss<T[K]> extends true ? K : never]?: Exclude<T[K], undefined>
}

// of what is unknown nothing is said
type MayMiss<V> = unknown extends V ? false : undefined extends V ? true : false

/** The properties that have a value; those that are undefined are left out. */
export function defined<const T extends object>(properties: T): Defined<T> {
  const found: Record<string, unknown> = {}
  for (const name of Object.keys(properties)) {
    const value: unknown = properties[name as keyof T]
    if (value !== undefined) setMember(found, name, value)
  }
  return found as Defined<T>
}

/** Sets a member whose name others chose. By assignment, `__proto__` would replace the prototype. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(object, name, { ...OWN, value })
  else object[name] = value
}

const OWN = { configurable: true, enumerable: true, writable: true }
