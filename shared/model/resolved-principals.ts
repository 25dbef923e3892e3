/** The unique IDs that a role write has resolved before AWS failed, for the repetition of that write. */
export interface ResolvedPrincipals {
  /** by hash of the question: the principal's ARN, and how its account was reached */
  ids: Readonly<Record<string, string>>
}
