import type { Ports } from '../../ports.ts'

const MOST_REMEMBERED = 10_000

/**
 * Remembers something that helps to guess the keys of the next request. It is never believed: a wrong guess
 * costs one more read.
 */
export function rememberHint({ keyHints }: Pick<Ports, 'keyHints'>, name: string, value: string): void {
  if (keyHints.size >= MOST_REMEMBERED) keyHints.clear()
  keyHints.set(name, value)
}

/** Names of what is remembered. */
export const hintName = {
  aliasKind: (accessor: string, type: string) => `alias ${accessor} ${type}`,
  roleId: (accessor: string, role: string) => `role ${accessor} ${role}`,
}
