import { fstatSync } from 'node:fs'

/** Mode of files that only their owner may read and write. */
export const OWNER_ONLY = 0o600
const OTHERS = 0o077

/** Reports whether an open file belongs to this user, and others may neither read nor write the file. */
export function isOwnFile(file: number): boolean {
  const { mode, uid } = fstatSync(file)
  return (mode & OTHERS) === 0 && (!process.getuid || uid === process.getuid())
}
