import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { ApiError } from '../../api/errors.ts'
import type { CallMeter } from '../../ports.ts'
import type { BackgroundJobs, PullerWaker } from '../../work-ports.ts'
import { buildServiceSettings } from './client.ts'

/** Starts jobs by invoking their Lambda asynchronously. */
export const createLambdaBackground = (functionName: string, meter: CallMeter): BackgroundJobs => ({
  start: async job => {
    meter.count('lambda')
    const command = new InvokeCommand({
      FunctionName: functionName,
      InvocationType: 'Event',
      Payload: Buffer.from(JSON.stringify(job)),
    })
    await new LambdaClient(buildServiceSettings('lambda')).send(command).catch((cause: unknown) => {
      throw new ApiError('busy', 'the background job could not be started', { retryAfter: 1, cause })
    })
  },
})

/** Wakes the puller by invoking its Lambda asynchronously. */
export const createPullerWaker = (functionName: string, meter: CallMeter): PullerWaker => {
  const { start } = createLambdaBackground(functionName, meter)
  return { wake: () => start({}) }
}
