import { constants, openSync, writeSync } from 'node:fs'
import { ApiError, AUDIT_UNWRITABLE_TEXT } from '../../api/errors.ts'
import type { AuditLog } from '../../ports.ts'
import type { LambdaEnvironment } from './environment.ts'

const OWNER_ONLY = 0o600

/** The settings that decide where audit entries go. */
type Settings = Pick<LambdaEnvironment, 'auditFile' | 'framedJson'>

/**
 * Writes the audit log: to the console, from where a subscription carries entries to their own log group, or as
 * lines of JSON to a file. An audit entry counts as written once the runtime or the file has taken it.
 */
export function createAuditLog({ auditFile, framedJson }: Settings, write: Write = writeSync): AuditLog {
  if (auditFile === '') return { write: async entry => printEntry(entry, framedJson) }
  let file: number | undefined
  return writeOncePerTurn(bytes => {
    // The audit file is opened with the first entry. If opening the audit file fails, the next entry tries again,
    // because the cause may be fixed meanwhile.
    file ??= openSync(auditFile, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, OWNER_ONLY)
    return write(file, bytes)
  })
}

const RETRY_AFTER_S = 5

/** The beginning of the error text if an entry cannot be written to the file. */
const UNWRITABLE = `${AUDIT_UNWRITABLE_TEXT}: free disk space, or make the file of the audit log writable`

/** Refuses the request whose audit entry could not be written. The client may repeat the refused request later. */
function unwritable(cause: unknown): ApiError {
  const { code = 'written only in part' } = cause as NodeJS.ErrnoException
  return new ApiError('busy', `${UNWRITABLE} (${code})`, { retryAfter: RETRY_AFTER_S, cause })
}

/**
 * Appends bytes to an open file.
 * @returns the number of written bytes
 */
type Write = (file: number, bytes: Buffer) => number

interface Handed {
  line: Buffer
  resolve(): void
  reject(error: unknown): void
}

/** Writes the audit entries of one turn of the event loop together. Each caller waits only for its own entry. */
function writeOncePerTurn(write: (bytes: Buffer) => number): AuditLog {
  let waiting: Handed[] = []
  function flush(): void {
    const all = waiting
    waiting = []
    try {
      let left = write(Buffer.concat(all.map(({ line }) => line)))
      for (const { line, resolve, reject } of all) {
        left -= line.length
        if (left >= 0) resolve()
        else reject(unwritable(new Error('an audit entry was written only in part')))
      }
    } catch (error) {
      for (const { reject } of all) reject(unwritable(error))
    }
  }
  return {
    write: entry =>
      new Promise((resolve, reject) => {
        const line = Buffer.from(`${JSON.stringify(entry)}\n`)
        if (waiting.push({ line, resolve, reject }) === 1) setImmediate(flush)
      }),
  }
}

/**
 * Prints an audit entry. Lambda's runtime replaces the methods of `console`: one call is one event, framed by its
 * length, whatever its content and whatever else prints. Plain output would be cut when the pipe is full. The
 * function's log format must be JSON, because otherwise no subscription would find the entry; without the JSON
 * format every entry fails.
 */
function printEntry(entry: Readonly<Record<string, unknown>>, framedJson: boolean): void {
  if (!framedJson) throw new Error('audit entries need the log format JSON and the level INFO')
  // biome-ignore lint/suspicious/noConsole: the runtime sends what the console gets
  console.info(entry)
}
