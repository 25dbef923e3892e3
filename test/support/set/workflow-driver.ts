import type { Clock } from '../../../shared/ports.ts'
import { OperationFailed } from '../../../shared/replication/operation/faults.ts'
import type { OperationStepResult } from '../../../shared/replication/operation/run.ts'
import type { WorkflowStarter } from '../../../shared/work-ports.ts'
import { type WorkflowDefinition, workflowDefinitions } from '../../../shared/workers/workflows.ts'

/** The number of retries of a workflow step, as in the state machines. */
const RETRIES = 3
const PAUSE_MS = 2000

interface Dependencies {
  /** calls the worker that runs the steps */
  invoke: (event: object) => Promise<OperationStepResult>
  clock: Clock
  /** runs work in the background */
  start: (work: () => Promise<void>) => void
}

/**
 * Runs workflows as their state machines do. Steps run one after the other, each until its result names the
 * next step. A failed step is retried, and after the last retry the step `failed` runs.
 */
export function workflowDriver({ invoke, clock, start }: Dependencies): WorkflowStarter['start'] {
  const executions = new Map<string, 'runs' | 'ended'>()

  async function insisted(event: object): Promise<OperationStepResult> {
    for (let tries = 0; ; tries++)
      try {
        return await invoke(event)
      } catch (error) {
        if (error instanceof OperationFailed || tries === RETRIES) throw error
        await clock.sleep(PAUSE_MS * 2 ** tries)
      }
  }

  async function taken(workflow: string, operation: string): Promise<void> {
    const { steps } = workflowDefinitions[workflow as keyof typeof workflowDefinitions] as WorkflowDefinition
    for (const step of steps)
      try {
        if (typeof step === 'string')
          while ((await insisted({ workflow, operation, step })).next === 'again');
        else await clock.sleep(step.seconds * 1000)
      } catch (cause) {
        const { name, message } = cause as Error
        const told = { error: name, cause: JSON.stringify({ errorType: name, errorMessage: message }) }
        await insisted({ workflow, operation, step: 'failed', at: step, ...told })
        return
      }
  }

  return async (workflow, operation, before = 0) => {
    const name = `${workflow}/${operation}/${before}`
    // an attempt that only watches another operation has no steps
    if (!Object.hasOwn(workflowDefinitions, workflow)) return 'runs'
    const known = executions.get(name)
    if (known) return known
    executions.set(name, 'runs')
    start(() => taken(workflow, operation).finally(() => executions.set(name, 'ended')))
    return 'runs'
  }
}
