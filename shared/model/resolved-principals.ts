/** The unique IDs that a role write had resolved before AWS failed. A repeated write uses them. */
export interface ResolvedPrincipals {
  /** by hash of the principal's ARN and of how its account was reached */
  ids: Readonly<Record<string, string>>
}
