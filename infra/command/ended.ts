/** Exit codes of the `cloud-auth` command. @see docs/look-up/command.md#exit-codes */
export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  occupied: 3,
  unwell: 4,
  declined: 5,
  interrupted: 130,
  terminated: 143,
} as const
export type ExitName = keyof typeof exitCodes

/** Ends the command with an exit code and a sentence for its user. */
export class CommandEnded extends Error {
  readonly exit: ExitName
  constructor(exit: ExitName, sentence: string) {
    super(sentence)
    this.exit = exit
  }
}
