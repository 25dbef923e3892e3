import { FINAL, type Workflow } from '../../shared/workers/workflows.ts'

const RETRY = [
  { ErrorEquals: [FINAL], MaxAttempts: 0 },
  { ErrorEquals: ['States.ALL'], IntervalSeconds: 2, MaxAttempts: 3, BackoffRate: 2, JitterStrategy: 'FULL' },
]

/**
 * The definition of a workflow. A step that fails for good is followed by the step `failed`, which is told where and
 * with what error. Nothing but names and the operation's id goes through the machine.
 * @param arns of the function that does the steps, and of what invokes it
 */
export function definitionOf(
  name: string,
  { summary, steps }: Workflow,
  { invoke: Resource, worker: FunctionName }: { invoke: string; worker: string },
) {
  const invoke = (payload: object) => ({
    Type: 'Task',
    Resource,
    Arguments: {
      FunctionName,
      Payload: {
        workflow: name,
        operation: '{% $states.context.Execution.Input.operation %}',
        ...payload,
      },
    },
    Retry: RETRY,
  })
  const names = steps.map(step => (typeof step === 'string' ? step : `wait ${step.seconds} s`))
  const states = steps.map((step, index) => {
    const [here = '', next = 'done'] = [names[index], names[index + 1]]
    if (typeof step !== 'string') return { [here]: { Type: 'Wait', Seconds: step.seconds, Next: next } }
    const failed = { at: step, error: '{% $states.errorOutput.Error %}' }
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
    StartAt: names[0],
    States: {
      ...Object.assign({}, ...states),
      done: { Type: 'Succeed' },
      failed: {
        ...invoke({ step: 'failed', at: '{% $states.input.at %}', error: '{% $states.input.error %}' }),
        Output: '{% $states.input %}',
        Next: 'ended',
      },
      ended: {
        Type: 'Fail',
        Error: FINAL,
        Cause: "{% $states.input.at & ': ' & $states.input.error %}",
      },
    },
  }
}
