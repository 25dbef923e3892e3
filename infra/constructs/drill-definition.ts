import { drillSteps } from '../../shared/replication/drill/steps.ts'
import { DRILL_WORKFLOW_NAME } from '../../shared/workers/workflows.ts'
import {
  CATCH_ERROR_OUTPUT,
  defineEndStates,
  TASK_RETRY_RULES,
  type WorkflowArns,
} from './workflow-definition.ts'

/** Error of a drill that is not retried, and the timeout of a whole drill in seconds. */
const STOPPED = 'DrillStopped'
const LONGEST_DRILL_SECONDS = 7200
const STEP_PAUSE_SECONDS = 2

/**
 * Defines the workflow of a drill: a planned switch and the switch back, step by step. After a step fails
 * permanently, the step `stopped` reports why. The state machine only passes names and the drill's id, which
 * is the execution's name.
 */
export function defineDrillWorkflow(arns: WorkflowArns) {
  const names = [...drillSteps.map(({ name }) => name), 'report']
  const invoke = (payload: object) => ({
    Type: 'Task',
    Resource: arns.invoke,
    Arguments: {
      FunctionName: arns.worker,
      Payload: {
        workflow: DRILL_WORKFLOW_NAME,
        operation: '{% $states.context.Execution.Name %}',
        ...payload,
      },
    },
    Retry: [{ ErrorEquals: [STOPPED], MaxAttempts: 0 }, ...TASK_RETRY_RULES],
  })
  const states = names.map((step, index) => ({
    [step]: {
      ...invoke({ step }),
      Output: { next: '{% $states.result.Payload.next %}' },
      Catch: [
        {
          ErrorEquals: ['States.ALL'],
          Output: { at: step, ...CATCH_ERROR_OUTPUT },
          Next: 'stopped',
        },
      ],
      Next: `${step} done?`,
    },
    [`${step} done?`]: {
      Type: 'Choice',
      Choices: [{ Condition: "{% $states.input.next = 'again' %}", Next: `${step} goes on` }],
      Default: names[index + 1] ?? 'done',
    },
    [`${step} goes on`]: { Type: 'Wait', Seconds: STEP_PAUSE_SECONDS, Next: step },
  }))
  return {
    Comment: 'rehearses a planned switch to another cluster of the set, and the way back',
    QueryLanguage: 'JSONata',
    StartAt: names[0],
    TimeoutSeconds: LONGEST_DRILL_SECONDS,
    States: {
      ...Object.assign({}, ...states),
      ...defineEndStates('stopped', invoke, STOPPED),
    },
  }
}
