import * as v from 'valibot'
import type { ImitatedAws } from '../state/imitated-aws.ts'

/** The schema of an argument whose members can be listed. */
type ObjectSchema<Input, Checked> = v.GenericSchema<Input, Checked> & {
  readonly entries: Readonly<Record<string, v.GenericSchema>>
}

/** A control command: the schema of its argument, and its action. */
export interface ControlCommand<Input, Checked, Result> {
  schema: ObjectSchema<Input, Checked>
  run(aws: ImitatedAws, input: Checked): Result | Promise<Result>
}

/** Declares a control command. The types of argument and result follow from the schema and the action. */
export const defineControlCommand = <Input, Checked, Result>(
  schema: ObjectSchema<Input, Checked>,
  run: (aws: ImitatedAws, input: Checked) => Result | Promise<Result>,
): ControlCommand<Input, Checked, Result> => ({ schema, run })

/** A control command as tests call it; an argument without required members may be omitted. */
export type ControlMethod<C> =
  C extends ControlCommand<infer Input, infer _Checked, infer Result>
    ? Record<never, never> extends Input
      ? (input?: Input) => Promise<Result>
      : (input: Input) => Promise<Result>
    : never

/** A control command without its types. */
export interface AnyControlCommand {
  schema: v.GenericSchema
  run(aws: ImitatedAws, input: never): unknown
}

/**
 * Checks the argument, runs the command and waits until its effect is saved.
 * @returns a copy of the result, so that callers cannot change the imitated AWS
 * @throws Error that names the faulty member, or the command's own error
 */
export async function runControlCommand(
  aws: ImitatedAws,
  { schema, run }: AnyControlCommand,
  input: unknown,
): Promise<unknown> {
  const checked = v.safeParse(schema, input ?? {})
  if (!checked.success) throw new Error(checked.issues.map(describe).join('; '))
  // `defineControlCommand` ties schema and action together, which the table's type does not express.
  const result = await run(aws, checked.output as never)
  await aws.saved()
  return structuredClone(result)
}

const describe = (issue: v.BaseIssue<unknown>): string =>
  `${v.getDotPath(issue) ?? 'argument'}: ${issue.message}`
