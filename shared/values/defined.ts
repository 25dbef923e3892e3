/** An object type whose properties that may be undefined are left out instead. */
type Defined<T> = {
  [K in keyof T as MayMiss<T[K]> extends true ? never : K]: T[K]
} & {
  [K in keyof T as MayMiss<T[K]> extends true ? K : never]?: Exclude<T[K], undefined>
}

// of what is unknown nothing is said
type MayMiss<V> = unknown extends V ? false : undefined extends V ? true : false

/** The properties that have a value; those that are undefined are left out. */
export const defined = <const T extends object>(properties: T): Defined<T> =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as Defined<T>
