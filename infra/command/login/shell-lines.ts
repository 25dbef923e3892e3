import { quoteForShell } from '../../../shared/console/commands.ts'

/** Formats variables as `export` lines for a POSIX shell; undefined values are omitted. */
export const formatShellExports = (variables: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(variables)
    .flatMap(([name, value]) => (value === undefined ? [] : [`export ${name}=${quoteForShell(value)}\n`]))
    .join('')
