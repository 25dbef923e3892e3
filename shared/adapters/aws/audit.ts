import { constants, openSync, writeSync } from 'node:fs'
import { ApiError, AUDIT_UNWRITABLE } from '../../api/errors.ts'
import type { Audit } from '../../ports.ts'
import type { Environment } from './environment.ts'

const OWNER_ONLY = 0o600

/** What decides where entries go. */
type Settings = Pick<Environment, 'auditFile' | 'framedJson'>

/**
 * The audit log: to the runtime's console (from where a subscription carries it to its own log group), or as lines
 * of JSON to a file. An entry counts once it was handed over.
 */
export function auditLog({ auditFile, framedJson }: Settings, write: Write = writeSync): Audit {
  if (auditFile === '') return { write: async entry => printEntry(entry, framedJson) }
  let file: number | undefined
  return writeOncePerTurn(bytes => {
    // opened with the first entry, and tried again where that failed: the place may be mended meanwhile
    file ??= openSync(auditFile, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, OWNER_ONLY)
    return write(file, bytes)
  })
}

const RETRY_AFTER_S = 5

/** How the text begins of a request that is refused because its entry cannot be written to the file. */
const UNWRITABLE = `${AUDIT_UNWRITABLE}: free its disk, or make its file writable`

/** Refuses the request whose entry could not be written. Who sent it may send it again once there is room. */
function unwritable(cause: unknown): ApiError {
  const { code = 'written in part' } = cause as NodeJS.ErrnoException
  return new ApiError('busy', `${UNWRITABLE} (${code})`, { retryAfter: RETRY_AFTER_S, cause })
}

/** Appends to an open file. @returns how many bytes were written */
type Write = (file: number, bytes: Buffer) => number

interface Handed {
  line: Buffer
  resolve(): void
  reject(error: unknown): void
}

/** Entries of one turn of the event loop go in one write; each of them is waited for. */
function writeOncePerTurn(write: (bytes: Buffer) => number): Audit {
  let waiting: Handed[] = []
  function flush(): void {
    const all = waiting
    waiting = []
    try {
      let left = write(Buffer.concat(all.map(({ line }) => line)))
      for (const { line, resolve, reject } of all) {
        left -= line.length
        if (left >= 0) resolve()
        else reject(unwritable(new Error('an audit entry was written in part')))
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
 * Lambda's runtime replaces the methods of `console`: one call is one event, framed by its length, whatever it holds
 * and whoever else prints; plain output would be cut where the pipe is full. That the event is JSON is a setting of
 * the function, and without it no subscription would find the entry: then there is no log, and nothing is done.
 */
function printEntry(entry: Readonly<Record<string, unknown>>, framedJson: boolean): void {
  if (!framedJson) throw new Error('audit entries need the log format JSON and the level INFO')
  // biome-ignore lint/suspicious/noConsole: the console is the runtime's way out
  console.info(entry)
}
