import { SendTaskSuccessCommand, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn'
import { ApiError } from '../../api/errors.ts'
import type { Meter } from '../../ports.ts'
import type { Workflows } from '../../work-ports.ts'
import { ownServiceSettings } from './client.ts'

/** Errors by which Step Functions says that nobody waits with a task token any more. */
const NOBODY_WAITS = ['InvalidToken', 'TaskDoesNotExist', 'TaskTimedOut']

/**
 * State machines of AWS Step Functions. An execution is named after its operation, a later one with its number behind. Its
 * only input is the operation's name.
 * @param arns what the ARNs of all state machines begin with
 */
export function stepFunctions(arns: string, meter: Meter): Workflows {
  const client = new SFNClient(ownServiceSettings('sfn'))
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
          // while it runs, starting it again is no error
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
