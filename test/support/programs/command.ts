import { type ChildProcess, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { shippedPrograms } from '../../../infra/build/command.ts'
import { checkoutRoot } from '../../../infra/checkout.ts'

/** The bundled `cloud-auth` command, which `npm test` builds before the tests. */
export const commandFile = `${checkoutRoot}.build/${shippedPrograms['cloud-auth'].file}`

export interface CommandEnd {
  /** exit code; null: a signal killed the command */
  status: number | null
  stdout: string
  stderr: string
}

interface Started {
  child: ChildProcess
  ended: Promise<CommandEnd>
}

interface CommandProgram {
  file?: string
  input?: string
  /** Node and its options */
  node?: readonly [program: string, ...options: string[]]
}

/**
 * Starts the `cloud-auth` command as a process that has only these environment variables. @param input its
 * whole standard input
 */
export function startCommand(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
  { file = commandFile, input = '', node = [process.execPath] }: CommandProgram = {},
): Started {
  const [program, ...options] = node
  const child = spawn(program, [...options, file, ...words], { env: variables, stdio: 'pipe' })
  // the command may end without reading its input
  child.stdin.on('error', () => undefined).end(input)
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
    ([status, stdout, stderr]) => ({
      status,
      stdout,
      stderr,
    }),
  )
  return { child, ended }
}

const LOOK_MS = 10

/** Sends a signal to a command when a probe is true, unless the command ends first. */
export async function endedWhen(
  { child, ended }: Started,
  signal: NodeJS.Signals,
  probe: () => Promise<boolean>,
): Promise<CommandEnd> {
  while (child.exitCode === null && !(await probe())) await setTimeout(LOOK_MS)
  child.kill(signal)
  return ended
}
