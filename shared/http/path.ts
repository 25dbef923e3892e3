/**
 * Why a path is not in its one canonical form; undefined when it is. Refused before routing and before any
 * policy is looked at: what is authorised has to be what is executed (CVE-2026-3605).
 *
 * @param path decoded once
 * @see docs/spec/transport.md#paths
 */
export function pathFault(path: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\\\u0000-\u001f\u007f]/.test(path)) return 'the path holds an illegal character'
  const checked = ROLE_TAG.exec(path)?.[1] ?? path
  if (checked.includes('//')) return 'the path holds an empty segment'
  return path.split('/').some(part => part === '.' || part === '..')
    ? 'the path holds a dot segment'
    : undefined
}

// Base64 of a role tag may hold "//"; what follows the list's name is one parameter.
const ROLE_TAG = /^(.*\/auth\/[^/]+\/roletag-(?:denylist|blacklist)\/)/

/** The path below `/v1`, without its leading slash. Some front ends strip the version, some do not. */
export const belowVersion = (path: string): string => path.replace(/^\/(?:v1\/)?/, '')
