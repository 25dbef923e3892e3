import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import type { Ports } from '../ports.ts'
import type { ActivationRun } from '../replication/activation/run.ts'
import { activationFailed, activationSteps } from '../replication/activation/steps.ts'
import type { Connect } from '../replication/secondary/connect.ts'
import type { StepResult, workflows } from './workflows.ts'

type Step = (run: ActivationRun, operation: string) => Promise<StepResult>

/** What the steps of each workflow do, and what follows when one is given up. */
const operations: Record<
  keyof typeof workflows,
  { steps: Readonly<Record<string, Step>>; failed: typeof activationFailed }
> = {
  activation: { steps: activationSteps, failed: activationFailed },
}

const order = v.object({
  workflow: v.picklist(Object.keys(operations) as (keyof typeof operations)[]),
  operation: v.pipe(v.string(), v.nonEmpty()),
  step: v.string(),
  at: v.optional(v.string(), ''),
  error: v.optional(v.string(), ''),
})

/** Time to finish what is in hand, milliseconds. */
const REST_MS = 5000

/**
 * Does the step of an operation that a workflow names.
 * @returns whether the next step follows, or the same one is done again
 */
export const operationHandler =
  (ports: Ports, connect: Connect) =>
  async (event: unknown, context: Context): Promise<StepResult> => {
    const { workflow, operation, step, at, error } = v.parse(order, event)
    const { steps, failed } = operations[workflow]
    const deadline = ports.clock.now() + context.getRemainingTimeInMillis() - REST_MS
    const run = { ports, connect, deadline }
    if (step === 'failed') {
      const { next } = await failed(run, operation, `the step ${at} failed: ${error}`)
      if (next === 'again') throw new Error('the operation was changed meanwhile')
      return { next }
    }
    const work = steps[step]
    if (!work) throw new Error(`the workflow ${workflow} has no step ${step}`)
    const { value: result, calls } = await ports.meter.measured(() => work(run, operation))
    ports.log.info('step', { workflow, operation, step, result: result.next, calls })
    return result
  }
