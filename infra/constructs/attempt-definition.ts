import { ATTEMPT_WORKFLOW } from '../../shared/ceremony/watch.ts'
import { bounds } from '../../shared/values/bounds.ts'
import {
  defineWorkflowEntryStates,
  ENTRY_STATE_NAME,
  TASK_RETRY_RULES,
  type WorkflowArns,
} from './workflow-definition.ts'

const AUTHORITY = 'POST sys/replication/dr/secondary/generate-operation-token/attempt'

const WATCH = 'wait for a share'
const TOLD = 'what has happened?'
const OVER = {
  completed: 'completed',
  cancelled: 'cancelled',
  lapsed: 'nobody submitted a recovery share for an hour',
}

/**
 * Defines the workflow that shows one attempt to generate a DR operation token. The execution ends when the attempt
 * ends, and its history shows the outcome. An execution that an operator starts first waits for the request that
 * begins an attempt. The attempt's item in the table is authoritative: the worker reads it when the workflow's
 * timeout expires or when a callback may have been lost.
 */
export const defineAttemptWorkflow = (arns: WorkflowArns) => ({
  Comment: 'watches an attempt to make a DR operation token from recovery shares',
  QueryLanguage: 'JSONata',
  StartAt: ENTRY_STATE_NAME,
  States: {
    ...defineWorkflowEntryStates(ATTEMPT_WORKFLOW, AUTHORITY, WATCH, arns),
    [WATCH]: {
      Type: 'Task',
      Resource: `${arns.invoke}.waitForTaskToken`,
      Arguments: {
        FunctionName: arns.worker,
        Payload: {
          workflow: ATTEMPT_WORKFLOW,
          operation: '{% $operation %}',
          step: 'watch',
          token: '{% $states.context.Task.Token %}',
        },
      },
      TimeoutSeconds: bounds.ATTEMPT_WAIT_SECONDS,
      Retry: [{ ErrorEquals: ['States.Timeout'], MaxAttempts: 0 }, ...TASK_RETRY_RULES],
      Catch: [{ ErrorEquals: ['States.Timeout'], Next: WATCH }],
      Output: '{% $states.result %}',
      Next: TOLD,
    },
    [TOLD]: {
      Type: 'Choice',
      Choices: Object.entries(OVER).map(([outcome, Next]) => ({
        Condition: `{% $states.input.outcome = '${outcome}' %}`,
        Next,
      })),
      Default: WATCH,
    },
    ...Object.fromEntries(Object.values(OVER).map(name => [name, { Type: 'Succeed' }])),
  },
})
