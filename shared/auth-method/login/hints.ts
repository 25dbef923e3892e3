import type { Ports } from '../../ports.ts'

const MOST_REMEMBERED = 10_000

/** Stores a hint for guessing the keys of later requests. Hints are never trusted: a wrong guess costs one more read. */
export function rememberKeyHint({ keyHints }: Pick<Ports, 'keyHints'>, name: string, value: string): void {
  if (keyHints.size >= MOST_REMEMBERED) keyHints.clear()
  keyHints.set(name, value)
}

/** The names of the hints. */
export const keyHintName = {
  aliasKind: (accessor: string, type: string) => `alias ${accessor} ${type}`,
  singleUse: (accessor: string) => `single use ${accessor}`,
  roleId: (accessor: string, role: string) => `role ${accessor} ${role}`,
}
