/**
 * Path patterns in CloudFront's order of matching, and whether each pattern leads to the Web Function. All
 * other paths lead to the API. A star in CloudFront also matches slashes, so the first pattern catches a role
 * named `login`.
 * @see docs/look-up/unverified.md#distribution
 */
export const webPathRules: readonly [pattern: string, toWeb: boolean][] = [
  ['/v1/auth/*/*/login', false],
  ['/v1/auth/*/login', true],
]
