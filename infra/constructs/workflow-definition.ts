import { WAITING_EXECUTION_TTL_MS } from '../../shared/replication/operation/waiting.ts'
import { FINAL_ERROR_NAME, type WorkflowDefinition } from '../../shared/workers/workflows.ts'

export const TASK_RETRY_RULES = [
  { ErrorEquals: [FINAL_ERROR_NAME], MaxAttempts: 0 },
  { ErrorEquals: ['States.ALL'], IntervalSeconds: 2, MaxAttempts: 3, BackoffRate: 2, JitterStrategy: 'FULL' },
]

/**
 * Fields of an error that the next state receives: the error's name, and Lambda's message if the error has a
 * message.
 */
export const CATCH_ERROR_OUTPUT = {
  error: '{% $states.errorOutput.Error %}',
  cause: "{% $exists($states.errorOutput.Cause) ? $states.errorOutput.Cause : '' %}",
}
/** The error's fields as input of the step that reports the error. */
const CAUGHT_ERROR_INPUT = { error: '{% $states.input.error %}', cause: '{% $states.input.cause %}' }

/**
 * The first state of a workflow, which distinguishes executions that a request started from executions that
 * an operator started.
 */
export const ENTRY_STATE_NAME = 'operation given?'

export interface WorkflowArns {
  /** ARN of the Step Functions action that invokes a function */
  invoke: string
  /** ARN of the function that runs the steps */
  worker: string
}

/**
 * Defines a workflow. After a step fails permanently, the step `failed` gets the name and the error of the
 * failed step. An execution without an operation, for example one started in the AWS console, waits for the
 * request that authorises it, and then runs that request's operation. The state machine passes only names and
 * the operation's id, never secrets.
 */
export function defineWorkflow(
  name: string,
  { summary, authority, steps }: WorkflowDefinition,
  arns: WorkflowArns,
) {
  const names = steps.map(step => (typeof step === 'string' ? step : `wait ${step.seconds} s`))
  const [first = 'done'] = names
  const invoke = (payload: object) => ({
    Type: 'Task',
    Resource: arns.invoke,
    Arguments: {
      FunctionName: arns.worker,
      Payload: { workflow: name, operation: '{% $operation %}', ...payload },
    },
    Retry: TASK_RETRY_RULES,
  })
  const states = steps.map((step, index) => {
    const [here = '', next = 'done'] = [names[index], names[index + 1]]
    if (typeof step !== 'string') return { [here]: { Type: 'Wait', Seconds: step.seconds, Next: next } }
    const failed = { at: step, ...CATCH_ERROR_OUTPUT }
    return {
      [step]: {
        ...invoke({ step }),
        Output: { next: '{% $states.result.Payload.next %}' },
        Catch: [{ ErrorEquals: ['States.ALL'], Output: failed, Next: 'failed' }],
        Next: `${step} done?`,
      },
      [`${step} done?`]: {
        Type: 'Choice',
        Choices: [{ Condition: "{% $states.input.next = 'again' %}", Next: step }],
        Default: next,
      },
    }
  })
  return {
    Comment: summary,
    QueryLanguage: 'JSONata',
    StartAt: ENTRY_STATE_NAME,
    States: {
      ...defineWorkflowEntryStates(name, authority, first, arns),
      ...Object.assign({}, ...states),
      ...defineEndStates('failed', invoke, FINAL_ERROR_NAME),
    },
  }
}

/**
 * Defines the last states of a workflow.
 * @param step reports the error of a failed step
 */
export const defineEndStates = (step: string, invoke: (payload: object) => object, error: string) => ({
  done: { Type: 'Succeed' },
  [step]: {
    ...invoke({ step, at: '{% $states.input.at %}', ...CAUGHT_ERROR_INPUT }),
    Output: '{% $states.input %}',
    Next: 'ended',
  },
  ended: { Type: 'Fail', Error: error, Cause: "{% $states.input.at & ': ' & $states.input.error %}" },
})

/**
 * Defines the entry states of a workflow. An execution with an operation starts its first step at once. An
 * execution without an operation waits for a request that brings an operation.
 */
export function defineWorkflowEntryStates(
  name: string,
  authority: string,
  Next: string,
  { invoke, worker: FunctionName }: WorkflowArns,
) {
  const waiting = `wait for ${authority}`
  const token = '{% $states.context.Task.Token %}'
  const options = '{% $states.context.Execution.Input %}'
  return {
    [ENTRY_STATE_NAME]: {
      Type: 'Choice',
      Choices: [
        {
          Condition: '{% $exists($states.context.Execution.Input.operation) %}',
          Assign: { operation: '{% $states.context.Execution.Input.operation %}' },
          Next,
        },
      ],
      Default: waiting,
    },
    [waiting]: {
      Type: 'Task',
      Resource: `${invoke}.waitForTaskToken`,
      Arguments: { FunctionName, Payload: { workflow: name, step: 'wait', token, options } },
      TimeoutSeconds: WAITING_EXECUTION_TTL_MS / 1000,
      Retry: [{ ErrorEquals: ['States.Timeout'], MaxAttempts: 0 }, ...TASK_RETRY_RULES],
      Catch: [{ ErrorEquals: ['States.Timeout'], Next: 'nobody came' }],
      Assign: { operation: '{% $states.result.operation %}' },
      Next,
    },
    'nobody came': { Type: 'Succeed' },
  }
}
