import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import type { Ports } from '../ports.ts'
import { beginDrill, reportDrill, stopDrill } from '../replication/drill/report.ts'
import { type AskCluster, type DrillRun, DrillStopped } from '../replication/drill/run.ts'
import { takeDrillStep } from '../replication/drill/steps.ts'
import { createStepError, describeOperationFault } from '../replication/operation/faults.ts'
import { type OperationStepResult, STEP_DONE } from '../replication/operation/run.ts'
import { logStepFailure } from './log-failure.ts'
import { DRILL_WORKFLOW_NAME } from './workflows.ts'

/** The input of the drill's state machine. Every other event comes from the schedule. */
const order = v.object({
  workflow: v.literal(DRILL_WORKFLOW_NAME),
  operation: v.pipe(v.string(), v.nonEmpty()),
  step: v.pipe(v.string(), v.nonEmpty()),
  at: v.optional(v.string(), ''),
  error: v.optional(v.string(), ''),
  cause: v.optional(v.string(), ''),
})

/** Milliseconds reserved at the end of a Lambda run to store the result. */
const DRILL_REST_MS = 10_000

/**
 * Returns the handler of `on-drill`: it starts a drill when the schedule fires, and runs the drill's steps.
 * @param drill absent: the deployment has no drill
 */
export const createDrillHandler =
  (ports: Ports, drill: { policy: string; ask: AskCluster } | undefined) =>
  async (event: unknown, context: Context): Promise<OperationStepResult> => {
    const input = v.safeParse(order, event)
    if (!drill) {
      if (input.success) throw new DrillStopped('the setting drill of this deployment is missing')
      return STEP_DONE
    }
    const run: DrillRun = {
      ports,
      ...drill,
      deadline: ports.clock.now() + context.getRemainingTimeInMillis() - DRILL_REST_MS,
    }
    return input.success ? runDrillStep(run, input.output) : startScheduledDrill(run, ports)
  }

async function startScheduledDrill(
  run: DrillRun,
  { workflows, entropy }: Ports,
): Promise<OperationStepResult> {
  const id = entropy.uuid()
  if (await beginDrill(run, id)) await workflows.start(DRILL_WORKFLOW_NAME, id)
  return STEP_DONE
}

async function runDrillStep(
  run: DrillRun,
  { workflow, operation, step, at, ...error }: v.InferOutput<typeof order>,
): Promise<OperationStepResult> {
  if (step === 'stopped') {
    const { message: text, detail } = createStepError(at, error)
    return stopDrill(run, operation, describeOperationFault({ text, detail }))
  }
  if (step === 'report') return reportDrill(run, operation)
  // a drill that was started by hand begins with the step `check`
  if (step === 'check' && !(await beginDrill(run, operation)))
    throw new DrillStopped('this cluster is not the primary, or another drill is running')
  try {
    return await takeDrillStep(run, operation, step)
  } catch (cause) {
    logStepFailure(run.ports, { workflow, operation, step }, cause, cause instanceof DrillStopped)
    // only a final failure is stored here, with its text; after any other the state machine calls the step `stopped`
    if (cause instanceof DrillStopped) await stopDrill(run, operation, cause.message)
    throw cause
  }
}
