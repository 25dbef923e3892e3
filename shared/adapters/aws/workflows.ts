import { SendTaskSuccessCommand, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn'
import { ApiError } from '../../api/errors.ts'
import type { CallMeter } from '../../ports.ts'
import type { WorkflowStarter } from '../../work-ports.ts'
import { buildServiceSettings } from './client.ts'

/** The errors of Step Functions for a task token for which no execution waits any more. */
const NOBODY_WAITS = ['InvalidToken', 'TaskDoesNotExist', 'TaskTimedOut']

/**
 * Starts and signals state machines of AWS Step Functions. An execution is named after its operation; a repeated
 * execution gets its number as suffix. The execution's only input is the operation's name.
 * @param arns prefix of the ARNs of all state machines
 */
export function createStepFunctions(arns: string, meter: CallMeter): WorkflowStarter {
  const client = new SFNClient(buildServiceSettings('sfn'))
  return {
    start: async (workflow, operation, before = 0) => {
      meter.count('states')
      const command = new StartExecutionCommand({
        stateMachineArn: `${arns}${workflow}`,
        name: before === 0 ? operation : `${operation}-${before + 1}`,
        input: JSON.stringify({ operation }),
      })
      return client.send(command).then(
        () => 'runs',
        (cause: Error) => {
          // starting a running execution again is not an error
          if (cause.name === 'ExecutionAlreadyExists') return 'ended'
          throw new ApiError('busy', 'the workflow could not be started', { retryAfter: 1, cause })
        },
      )
    },
    signal: async (taskToken, answer) => {
      meter.count('states')
      const command = new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(answer) })
      return client.send(command).then(
        () => true,
        (cause: Error) => {
          if (NOBODY_WAITS.includes(cause.name)) return false
          throw new ApiError('busy', 'the workflow could not be reached', { retryAfter: 1, cause })
        },
      )
    },
  }
}
