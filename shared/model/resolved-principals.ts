/**
 * The unique IDs that a role write had resolved before AWS failed. A repeated write of the role uses these stored
 * unique IDs.
 */
export interface ResolvedPrincipals {
  /** `ids` by hash of the principal's ARN and of the settings by which its account was reached */
  ids: Readonly<Record<string, string>>
}
