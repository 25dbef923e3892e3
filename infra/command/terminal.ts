import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

/** Asks the user on standard error, and reads answers from standard input, one line each. */
export interface Terminal {
  /**
   * asks a question and returns the next line of input; undefined: the input has ended. `hidden`: a terminal
   * does not show the typed text
   */
  line(question: string, how?: { hidden: boolean }): Promise<string | undefined>
  /** reads standard input to its end */
  drain(): Promise<void>
  close(): void
}

/** Creates a terminal. The terminal opens standard input at the first question only. */
export function openTerminal(): Terminal {
  let lines: ReturnType<typeof opened> | undefined
  const ask = () => {
    lines ??= opened()
    return lines
  }
  return {
    line: (question, how = { hidden: false }) => ask().line(question, how.hidden),
    drain: async () => {
      for await (const _ of process.stdin);
    },
    close: () => lines?.close(),
  }
}

function opened() {
  const terminal = process.stdin.isTTY === true
  let hidden = false
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      if (!hidden) process.stderr.write(chunk)
      done()
    },
  })
  const reading = createInterface({ input: process.stdin, output, terminal })
  // in a terminal, readline intercepts Ctrl-C, so the signal is sent to this process again
  reading.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const answers = reading[Symbol.asyncIterator]()
  return {
    async line(question: string, isHidden: boolean): Promise<string | undefined> {
      process.stderr.write(question)
      hidden = isHidden
      const { value, done } = await answers.next()
      hidden = false
      if (isHidden || !terminal) process.stderr.write('\n')
      return done ? undefined : value
    },
    close: () => reading.close(),
  }
}
