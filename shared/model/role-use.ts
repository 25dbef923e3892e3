/** The last day on which a login used a role. @see docs/spec/review.md#unused-roles */
export interface RoleUse {
  /** days since 1970 */
  day: number
}

/** Milliseconds of the unit of `RoleUse`. */
export const ROLE_USE_DAY_MS = 86_400_000
