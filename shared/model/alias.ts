/**
 * An entity with its only alias: a workload as a mount knows it.
 * @see docs/spec/tokens.md#entities
 */
export interface Alias {
  entityId: string
  aliasId: string
  /** accessor of the mount */
  mount: string
  name: string
  /** `metadata`: the selected metadata of the last login that changed it */
  metadata: Readonly<Record<string, string>>
  /** a disabled entity cannot log in, and its tokens do not work */
  disabled: boolean
  /** `policies` that every token of the entity has in addition to its own */
  policies: readonly string[]
  entityName: string
  entityMetadata: Readonly<Record<string, string>>
  /** epoch milliseconds */
  createdAt: number
  updatedAt: number
}

/** Points from an id to the alias item. */
export interface EntityAliasPointer {
  mount: string
  name: string
}
