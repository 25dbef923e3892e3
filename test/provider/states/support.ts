import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import {
  DescribeExecutionCommand,
  type DescribeExecutionOutput,
  GetExecutionHistoryCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn'
import { onTestFinished } from 'vitest'
import type { StatesClock } from '../../../infra/local/states/dependencies.ts'
import { startStateMachines } from '../../../infra/local/states/machines.ts'
import { startStatesService } from '../../../infra/local/states/service.ts'
import { openStateStore } from '../../../infra/local/states/store.ts'

/** The beginning of the machines' ARNs. */
export const PREFIX = 'arn:aws:states:eu-west-1:111122223333:stateMachine:'

/** Returns a clock that only the test advances. */
export function stillTime(now = Date.UTC(2026, 0, 1)): StatesClock & { pass(seconds: number): void } {
  const waiting = new Set<{ moment: number; resolve: () => void }>()
  return {
    now: () => now,
    until: (moment, signal) =>
      new Promise((resolve, reject) => {
        if (moment <= now) return resolve()
        waiting.add({ moment, resolve })
        const fail = () => reject(signal.reason)
        if (signal.aborted) fail()
        signal.addEventListener('abort', fail, { once: true })
      }),
    pass: seconds => {
      now += seconds * 1000
      for (const one of waiting) {
        if (one.moment > now) continue
        waiting.delete(one)
        one.resolve()
      }
    },
  }
}

/** The key that the service takes. */
const key = { accessKeyId: 'a', secretAccessKey: 'b' }

type Invoke = (functionName: string, event: never) => unknown

/** Defines a state machine that begins with the first of some states. The state `End` ends the machine. */
const machineOf = (states: object, more: object) => ({
  QueryLanguage: 'JSONata',
  StartAt: Object.keys(states)[0],
  States: { ...states, End: { Type: 'Succeed' } },
  ...more,
})

/**
 * Starts a Step Functions service with one state machine, `m`, which tests call through the SDK. Tests can
 * end the service and start it again with its state.
 */
export async function stateMachine(states: object, invoke: Invoke = () => null, more: object = {}) {
  const directory = mkdtempSync(`${tmpdir()}/states-`)
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const time = stillTime()
  const definition = machineOf(states, more)
  const begin = async () => {
    const machines = startStateMachines({
      store: openStateStore(`${directory}/states.sqlite`),
      time,
      definitions: new Map([[`${PREFIX}m`, definition]]),
      mostEvents: 100,
      invoke: async (name, event) => invoke(name, event as never),
    })
    const service = await startStatesService(machines, [key])
    const client = new SFNClient({
      endpoint: service.url,
      region: 'eu-west-1',
      credentials: key,
      maxAttempts: 1,
    })
    const end = async () => {
      client.destroy()
      await service.close()
      await machines.close()
    }
    return { client, end, url: service.url }
  }
  let running = await begin()
  onTestFinished(() => running.end())

  const start = async (input: unknown = {}, name?: string): Promise<string> => {
    const command = new StartExecutionCommand({
      stateMachineArn: `${PREFIX}m`,
      input: JSON.stringify(input),
      ...(name === undefined ? {} : { name }),
    })
    return (await running.client.send(command)).executionArn ?? ''
  }
  const describe = (executionArn: string): Promise<DescribeExecutionOutput> =>
    running.client.send(new DescribeExecutionCommand({ executionArn }))
  const ended = async (arn: string) => {
    for (;;) {
      const { status, output, error, cause } = await describe(arn)
      if (status !== 'RUNNING') return { status, output: output && JSON.parse(output), error, cause }
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
  return {
    time,
    arn: `${PREFIX}m`,
    get url() {
      return running.url
    },
    get client() {
      return running.client
    },
    start,
    describe,
    ended,
    /** runs the machine to its end */
    run: async (input: unknown = {}) => ended(await start(input)),
    events: async (executionArn: string) => {
      const { events = [] } = await running.client.send(
        new GetExecutionHistoryCommand({ executionArn, maxResults: 1000 }),
      )
      return events
    },
    /** ends the service and starts it again from its stored state */
    restart: async () => {
      await running.end()
      running = await begin()
    },
  }
}

/** Makes a retrier with a number of tries and full jitter. */
export const retrier = (error: string, MaxAttempts = 3, more: object = {}) => ({
  ErrorEquals: [error],
  MaxAttempts,
  JitterStrategy: 'FULL',
  ...more,
})

/** Makes a state that invokes the function `f`. */
export const task = (more: object = {}) => ({
  Type: 'Task',
  Resource: 'arn:aws:states:::lambda:invoke',
  Arguments: { FunctionName: 'f', Payload: '{% $states.input %}' },
  Output: '{% $states.result.Payload %}',
  Next: 'End',
  ...more,
})

/** Makes a state like `task` that ends when a test answers its task token. */
export const tokenTask = (more: object = {}) => ({
  Type: 'Task',
  Resource: 'arn:aws:states:::lambda:invoke.waitForTaskToken',
  Arguments: { FunctionName: 'f', Payload: { token: '{% $states.context.Task.Token %}' } },
  Next: 'End',
  ...more,
})

/** Waits until a probe returns true. */
export async function until(probe: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await probe())) await new Promise(resolve => setTimeout(resolve, 5))
}
