/**
 * Why a path is not in its one canonical form; undefined when it is. Refused before routing and before any
 * policy is looked at: what is authorised has to be what is executed (CVE-2026-3605).
 *
 * @param path decoded once
 * @see docs/spec/transport.md#paths
 */
export function pathFault(path: string): string | undefined {
  const checked = ROLE_TAG.exec(path)?.[1] ?? path
  const tag = path.slice(checked.length).replace(/[\t\n\r]/g, '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\\\u0000-\u001f\u007f]/.test(checked + tag)) return 'the path holds an illegal character'
  if (checked.includes('//')) return 'the path holds an empty segment'
  return path.split('/').some(part => part === '.' || part === '..')
    ? 'the path holds a dot segment'
    : undefined
}

// Base64 of a role tag may hold "//", and tabs and line ends where a tool wrapped it; what follows the list's name is
// one parameter.
const ROLE_TAG = /^(\/(?:v1\/)?auth\/[^/]+\/roletag-(?:denylist|blacklist)\/)/

/** The path below `/v1`, without its leading slash. Some front ends strip the version, some do not. */
export const belowVersion = (path: string): string => path.replace(/^\/(?:v1\/)?/, '')
