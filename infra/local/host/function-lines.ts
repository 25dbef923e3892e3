import { appendFileSync } from 'node:fs'
import { AUDIT_UNWRITABLE_TEXT } from '../../../shared/api/errors.ts'
import { batchItemsByTick } from '../os/by-tick.ts'

/** Milliseconds before the terminal shows the same line again. */
const SAME_LINE_PAUSE_MS = 60_000

/**
 * Writes the functions' lines to `functions.log`, and prints problems that the host's user must solve: a full disk,
 * an unwritable file.
 * @param print writes a line to the terminal
 */
export function createLogLineWriter(
  directory: string,
  print: (text: string) => void = text => void process.stderr.write(`${text}\n`),
): (line: string) => void {
  const [log, audit] = [`${directory}/functions.log`, `${directory}/audit.log`]
  const printed = new Map<string, number>()
  const complain = (about: string, text: string): void => {
    if (Date.now() < (printed.get(about) ?? 0) + SAME_LINE_PAUSE_MS) return
    printed.set(about, Date.now())
    print(text)
  }
  const write = batchItemsByTick<string>(lines => {
    try {
      appendFileSync(log, `${lines.join('\n')}\n`)
    } catch (error) {
      // the directory of a cluster without stored state may be gone before the last line
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT')
        complain(log, `${log} cannot be written (${code}): log lines of functions are lost`)
    }
  })
  return line => {
    write(line)
    const at = line.indexOf(AUDIT_UNWRITABLE_TEXT)
    if (at < 0) return
    const [why = ''] = line.slice(at).split('"')
    complain(audit, `${audit}: ${why}. Until then requests are answered with 503.`)
  }
}
