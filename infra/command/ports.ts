import { type CommandEnvironment, readCommandVariable } from './connection.ts'
import { CommandEnded } from './ended.ts'
import type { TerminalText } from './output.ts'

/** Environment and output of a command. */
export interface CommandPorts {
  environment: CommandEnvironment
  /** writes to standard output, without a line break */
  print(text: TerminalText): void
  /** writes a line to standard error */
  say(text: string): void
}

/** Matches a token whose characters are all allowed in a header. */
export const TOKEN_TEXT = /^[\x21-\x7e]+$/

/** Reads the caller's token from the environment. */
export const readEnvironmentToken = (environment: CommandEnvironment): string | undefined =>
  readCommandVariable(environment, 'TOKEN')

/**
 * Reads a token that the command needs. The token is never an argument, because all users of a machine can see
 * arguments.
 * @throws CommandEnded `usage`
 */
export function readNeededToken(environment: CommandEnvironment, command: string, cure = ''): string {
  const token = readEnvironmentToken(environment)
  if (token === undefined) throw new CommandEnded('usage', `${command} needs a token in VAULT_TOKEN${cure}`)
  if (!TOKEN_TEXT.test(token))
    throw new CommandEnded('usage', 'VAULT_TOKEN has characters that no token has, for example a line break')
  return token
}
