import { constants, openSync, writeSync } from 'node:fs'
import type { Audit } from '../../ports.ts'

const OWNER_ONLY = 0o600

/**
 * The audit log: one line of JSON per entry, to standard output (from where a subscription carries it to its
 * own log group) or to a file. An entry counts once it was handed to the operating system.
 */
export function lineAudit(file: string): Audit {
  const target =
    file === ''
      ? undefined
      : openSync(file, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, OWNER_ONLY)
  return {
    write: async entry => {
      const line = `${JSON.stringify(entry)}\n`
      if (target === undefined) await printed(line)
      else writeSync(target, line)
    },
  }
}

const printed = (line: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(line, error => (error ? reject(error) : resolve()))
  })
