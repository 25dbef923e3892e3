/**
 * Paths in the order in which CloudFront compares them, and whether they lead to the Web Function; all others lead to the
 * API. Its stars take slashes too: a role named `login` has the first form.
 */
export const webPaths: readonly [pattern: string, toWeb: boolean][] = [
  ['/v1/auth/*/*/login', false],
  ['/v1/auth/*/login', true],
]
