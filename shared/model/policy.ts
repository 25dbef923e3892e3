/** A policy as stored: the text as its author wrote it. */
export interface StoredPolicy {
  /** HCL or JSON */
  text: string
}

/**
 * The capabilities of a rule. The capability `deny` clears all other capabilities.
 * @see docs/spec/policies.md#capabilities
 */
export const capabilities = [
  'create',
  'read',
  'update',
  'patch',
  'delete',
  'list',
  'sudo',
  'deny',
  'subscribe',
  'recover',
] as const

export type Capability = (typeof capabilities)[number]

/** Allowed values of parameters, by parameter name. An empty list of values allows every value. */
export type ParameterRules = Readonly<Record<string, readonly unknown[]>>

/** The rights for one path pattern. */
export interface PolicyRule {
  /** `path`: exact, with a trailing `*`, or with `+` for one segment */
  path: string
  capabilities: ReadonlySet<Capability>
  allowed: ParameterRules
  denied: ParameterRules
  required: readonly string[]
  /** bounds of a requested wrapping, seconds */
  minWrapping: number
  maxWrapping: number
}
