/** The unique IDs that a role write had resolved before AWS failed. A repeated write of the role uses these results. */
export interface ResolvedPrincipals {
  /** by hash of the principal's ARN and of how its account was reached */
  ids: Readonly<Record<string, string>>
}
