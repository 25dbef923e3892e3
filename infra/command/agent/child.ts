import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'

/** The child process of an agent. */
export interface AgentChild {
  /** starts the child with the token; a running child is restarted, or gets the signal */
  giveToken(token: string): Promise<void>
  /** sends a signal and waits for the end @returns the exit code; undefined: no child runs */
  stop(signal: NodeJS.Signals): Promise<number | undefined>
}

interface ChildOptions {
  environment: CommandEnvironment
  /** signal on a new token; absent: the child is restarted */
  onNewToken?: NodeJS.Signals
  /** receives the exit code of a child that ended by itself, or the error of its start */
  onEnd(end: number | CommandEnded): void
}

/** Milliseconds that a child has to end after a signal. */
const ENDING_MS = 10_000

export function createAgentChild(
  [command = '', ...args]: readonly string[],
  { environment, onNewToken, onEnd }: ChildOptions,
): AgentChild {
  let running: { child: ChildProcess; ended: Promise<number> } | undefined
  const start = (token: string): void => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...environment, VAULT_TOKEN: token } })
    const ended = new Promise<number>(resolve => {
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
      child.once('error', (error: NodeJS.ErrnoException) => {
        if (child.pid !== undefined) return
        running = undefined
        onEnd(new CommandEnded('refused', `${command} cannot be started (${error.code})`))
      })
    })
    const one = { child, ended }
    running = one
    void ended.then(code => {
      if (running !== one) return
      running = undefined
      onEnd(code)
    })
  }
  const stop = async (signal: NodeJS.Signals): Promise<number | undefined> => {
    if (!running) return undefined
    const { child, ended } = running
    // an end that the agent caused is not reported
    running = undefined
    child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), ENDING_MS)
    const code = await ended
    clearTimeout(timer)
    return code
  }
  return {
    stop,
    giveToken: async token => {
      if (running && onNewToken) {
        running.child.kill(onNewToken)
        return
      }
      await stop('SIGTERM')
      start(token)
    },
  }
}

/** Reads the name of a signal, with or without `SIG`. @throws CommandEnded `usage` */
export function readSignal(text: string): NodeJS.Signals {
  const name = `SIG${text.toUpperCase().replace(/^SIG/, '')}`
  if (!Object.hasOwn(constants.signals, name) || name === 'SIGKILL' || name === 'SIGSTOP')
    throw new CommandEnded(
      'usage',
      `--on-new-token must be a signal such as HUP, not ${JSON.stringify(text)}`,
    )
  return name as NodeJS.Signals
}
