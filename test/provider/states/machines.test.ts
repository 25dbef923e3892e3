import {
  ListExecutionsCommand,
  ListStateMachinesCommand,
  SendTaskSuccessCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startStateMachines } from '../../../infra/local/states/machines.ts'
import { openStateStore } from '../../../infra/local/states/store.ts'
import { FunctionFault } from '../../../infra/local/states/task.ts'
import { retrier, stateMachine, stillTime, task, tokenTask, until } from './support.ts'

const fault = (type: string) => new FunctionFault(type, 'as the test wants')

describe('a state machine', () => {
  test('passes results, variables and the context from state to state, and choices use these values', async () => {
    const machine = await stateMachine(
      {
        Begin: {
          Type: 'Choice',
          Choices: [
            {
              Condition: '{% true %}',
              Assign: { name: '{% $states.input.name %}', id: '{% $states.context.Execution.Name %}' },
              Next: 'Ask',
            },
          ],
        },
        Ask: task({ Next: 'Decide' }),
        Decide: {
          Type: 'Choice',
          Choices: [{ Condition: '{% $states.input.count > 10 %}', Next: 'Many' }],
          Default: 'Few',
        },
        Many: { Type: 'Succeed', Output: { many: true } },
        Few: {
          Type: 'Succeed',
          Output: { greeting: "{% 'for ' & $name & ': ' & $states.input.count %}", of: '{% $id %}' },
        },
      },
      (name, event: { name: string }) => ({ count: name === 'f' ? event.name.length : 0 }),
    )
    const arn = await machine.start({ name: 'web' }, 'first')
    expect(await machine.ended(arn)).toMatchObject({
      status: 'SUCCEEDED',
      output: { greeting: 'for web: 3', of: 'first' },
    })
    expect(await machine.run({ name: 'a long name' })).toMatchObject({ output: { many: true } })
    const types = (await machine.events(arn)).map(({ type }) => type)
    expect(types).toEqual([
      'ExecutionStarted',
      'ChoiceStateEntered',
      'ChoiceStateExited',
      'TaskStateEntered',
      'TaskScheduled',
      'TaskSucceeded',
      'TaskStateExited',
      'ChoiceStateEntered',
      'ChoiceStateExited',
      'SucceedStateEntered',
      'SucceedStateExited',
      'ExecutionSucceeded',
    ])
  })

  test('fails on an expression without a value', async () => {
    const machine = await stateMachine({
      A: { Type: 'Succeed', Output: '{% $states.input.absent %}' },
    })
    expect(await machine.run()).toMatchObject({ status: 'FAILED', error: 'States.QueryEvaluationError' })
  })

  test('fails on a condition that is no boolean, and on a choice without a match', async () => {
    const choice = { Type: 'Choice', Choices: [{ Condition: '{% $states.input.is %}', Next: 'B' }] }
    const machine = await stateMachine({ A: choice, B: { Type: 'Succeed' } })
    expect(await machine.run({ is: 1 })).toMatchObject({ error: 'States.QueryEvaluationError' })
    expect(await machine.run({ is: false })).toMatchObject({ error: 'States.NoChoiceMatched' })
    expect(await machine.run({ is: true })).toMatchObject({ status: 'SUCCEEDED' })
  })

  test('fails above 256 KB of state data, even with a catcher of all errors', async () => {
    const large = 'x'.repeat(262_145)
    const machine = await stateMachine(
      {
        A: task({
          Catch: [{ ErrorEquals: ['States.ALL'], Next: 'B' }],
          Retry: [retrier('States.ALL')],
        }),
        B: { Type: 'Succeed' },
      },
      () => large,
    )
    expect(await machine.run()).toMatchObject({ status: 'FAILED', error: 'States.DataLimitExceeded' })
    await expect(machine.start({ large })).rejects.toMatchObject({ name: 'InvalidExecutionInput' })
  })

  test('repeats a failed task after pauses with full jitter, and then catches its error', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    onTestFinished(() => void vi.restoreAllMocks())
    let calls = 0
    const machine = await stateMachine(
      {
        A: task({
          Retry: [
            retrier('Other', 9),
            retrier('States.TaskFailed', 2, { IntervalSeconds: 4, BackoffRate: 3 }),
          ],
          Catch: [{ ErrorEquals: ['Busy'], Next: 'B', Output: '{% $states.errorOutput %}' }],
        }),
        B: {
          Type: 'Succeed',
          Output: { error: '{% $states.input.Error %}', cause: '{% $states.input.Cause %}' },
        },
      },
      () => {
        calls += 1
        throw fault('Busy')
      },
    )
    const arn = await machine.start()
    await until(() => calls === 1)
    machine.time.pass(1)
    expect(calls).toBe(1)
    machine.time.pass(1)
    await until(() => calls === 2)
    machine.time.pass(5)
    expect(calls).toBe(2)
    machine.time.pass(1)
    expect(await machine.ended(arn)).toMatchObject({
      output: {
        error: 'Busy',
        cause: JSON.stringify({ errorType: 'Busy', errorMessage: 'as the test wants' }),
      },
    })
    expect(calls).toBe(3)
  })

  test('ends a task at its timeout, which is not States.TaskFailed', async () => {
    const machine = await stateMachine(
      {
        A: task({
          TimeoutSeconds: 10,
          Retry: [retrier('States.TaskFailed')],
          Catch: [{ ErrorEquals: ['States.Timeout'], Next: 'B' }],
        }),
        B: { Type: 'Fail', Error: 'Late', Cause: "{% 'after ' & $states.input.Error %}" },
      },
      () => new Promise(() => undefined),
    )
    const arn = await machine.start()
    await until(async () => (await machine.events(arn)).some(({ type }) => type === 'TaskScheduled'))
    machine.time.pass(10)
    expect(await machine.ended(arn)).toMatchObject({
      status: 'FAILED',
      error: 'Late',
      cause: 'after States.Timeout',
    })
  })

  test('ends as a whole at its timeout', async () => {
    const machine = await stateMachine({ A: { Type: 'Wait', Seconds: 100, Next: 'End' } }, undefined, {
      TimeoutSeconds: 50,
    })
    const arn = await machine.start()
    await until(async () => (await machine.events(arn)).length > 1)
    machine.time.pass(51)
    expect(await machine.ended(arn)).toMatchObject({ status: 'TIMED_OUT' })
  })

  test('ends when its history is full', async () => {
    const machine = await stateMachine({ A: { Type: 'Choice', Choices: [], Default: 'A' } })
    const arn = await machine.start()
    expect(await machine.ended(arn)).toMatchObject({ status: 'FAILED', error: 'States.Runtime' })
  })
})

describe('tasks with a token', () => {
  const waiting = async (more: object = {}, states: object = {}) => {
    const tokens: string[] = []
    const machine = await stateMachine(
      { A: tokenTask(more), ...states },
      (_, { token }: { token: string }) => {
        tokens.push(token)
      },
    )
    const arn = await machine.start()
    await until(async () => tokens.length === 1 && (await machine.events(arn)).length === 3)
    const taskToken = tokens[0] ?? ''
    const succeed = (output: unknown) =>
      machine.client.send(new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(output) }))
    return { machine, arn, taskToken, tokens, succeed }
  }

  test('an answer becomes the result of the task, and a second answer is refused', async () => {
    const { machine, arn, succeed } = await waiting()
    await succeed({ by: 'an operator' })
    expect(await machine.ended(arn)).toMatchObject({ output: { by: 'an operator' } })
    await expect(succeed({})).rejects.toMatchObject({ name: 'TaskTimedOut' })
  })

  test('an invalid token is refused', async () => {
    const { machine } = await waiting()
    const command = new SendTaskSuccessCommand({ taskToken: 'guessed', output: '{}' })
    await expect(machine.client.send(command)).rejects.toMatchObject({ name: 'InvalidToken' })
  })

  test('a restart keeps the wait and the token, and does not repeat the task', async () => {
    const { machine, arn, tokens, succeed } = await waiting()
    await machine.restart()
    await succeed('after the restart')
    expect(await machine.ended(arn)).toMatchObject({ output: 'after the restart' })
    expect(tokens).toHaveLength(1)
  })
})

describe('an execution continues at its state after a restart of the service', () => {
  test('earlier states are not repeated', async () => {
    const calls: string[] = []
    let stuck = true
    const machine = await stateMachine(
      {
        A: task({
          Output: '{% $states.input %}',
          Assign: { seen: '{% $states.result.Payload %}' },
          Next: 'B',
        }),
        B: task({ Output: { seen: '{% $seen %}', input: '{% $states.input %}' } }),
      },
      () => {
        calls.push('called')
        return calls.length === 2 && stuck ? new Promise(() => undefined) : calls.length
      },
    )
    const arn = await machine.start({ a: 1 })
    await until(() => calls.length === 2)
    stuck = false
    await machine.restart()
    expect(await machine.ended(arn)).toMatchObject({ output: { seen: 1, input: { a: 1 } } })
    expect(calls).toHaveLength(3)
  })

  test('a wait does not start again from the beginning', async () => {
    const machine = await stateMachine({
      A: { Type: 'Wait', Seconds: 100, Next: 'B' },
      B: { Type: 'Succeed' },
    })
    const arn = await machine.start()
    await until(async () => (await machine.events(arn)).length === 2)
    machine.time.pass(60)
    await machine.restart()
    machine.time.pass(40)
    expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
  })

  test('pauses and the number of tries are kept', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    onTestFinished(() => void vi.restoreAllMocks())
    let calls = 0
    const machine = await stateMachine(
      { A: task({ Retry: [retrier('States.ALL', 1, { IntervalSeconds: 200 })] }) },
      () => {
        calls += 1
        throw fault('Busy')
      },
    )
    const arn = await machine.start()
    await until(async () => (await machine.events(arn)).some(({ type }) => type === 'TaskFailed'))
    await machine.restart()
    expect(calls).toBe(1)
    machine.time.pass(100)
    expect(await machine.ended(arn)).toMatchObject({ status: 'FAILED', error: 'Busy' })
    expect(calls).toBe(2)
  })
})

describe('executions by name', () => {
  const sleeping = { A: { Type: 'Wait', Seconds: 100, Next: 'End' } }

  test('the same name returns the same execution for equal input, and fails for other input', async () => {
    const machine = await stateMachine(sleeping)
    const arn = await machine.start({ a: 1 }, 'one')
    expect(await machine.start({ a: 1 }, 'one')).toBe(arn)
    await expect(machine.start({ a: 2 }, 'one')).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' })
    await expect(machine.start({}, 'not a name')).rejects.toMatchObject({ name: 'InvalidName' })
  })

  test('the name of an ended execution stays taken', async () => {
    const machine = await stateMachine({ A: { Type: 'Succeed' } })
    await machine.ended(await machine.start({}, 'one'))
    await expect(machine.start({}, 'one')).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' })
  })

  test('an execution can be stopped with a reason', async () => {
    const machine = await stateMachine(sleeping)
    const executionArn = await machine.start()
    await machine.client.send(new StopExecutionCommand({ executionArn, error: 'E', cause: 'because' }))
    expect(await machine.ended(executionArn)).toMatchObject({
      status: 'ABORTED',
      error: 'E',
      cause: 'because',
    })
    machine.time.pass(1000)
    await machine.restart()
    expect(await machine.describe(executionArn)).toMatchObject({ status: 'ABORTED' })
  })

  test('executions are listed newest first, by status, in pages', async () => {
    const machine = await stateMachine(sleeping)
    const arns: string[] = []
    for (const name of ['one', 'two', 'three']) arns.unshift(await machine.start({}, name))
    await machine.client.send(new StopExecutionCommand({ executionArn: arns[0] }))
    const list = async (more: object) => {
      const { executions = [], nextToken } = await machine.client.send(
        new ListExecutionsCommand({ stateMachineArn: machine.arn, ...more }),
      )
      return { arns: executions.map(({ executionArn }) => executionArn), nextToken }
    }
    expect(await list({ statusFilter: 'RUNNING' })).toMatchObject({ arns: arns.slice(1) })
    const first = await list({ maxResults: 2 })
    expect(first.arns).toEqual(arns.slice(0, 2))
    expect(await list({ nextToken: first.nextToken })).toEqual({ arns: arns.slice(2), nextToken: undefined })
  })

  test('machines are listed by name and ARN, in pages', async () => {
    const machine = await stateMachine(sleeping)
    const list = async (more: object) => machine.client.send(new ListStateMachinesCommand(more))
    const { stateMachines: [one] = [], nextToken } = await list({ maxResults: 1 })
    expect(one).toEqual({
      stateMachineArn: machine.arn,
      name: machine.arn.split(':').at(-1),
      type: 'STANDARD',
      creationDate: expect.any(Date),
    })
    expect(nextToken).toBeUndefined()
    expect((await list({ nextToken: '1' })).stateMachines).toEqual([])
  })

  test('describing a missing execution fails', async () => {
    const machine = await stateMachine(sleeping)
    await expect(machine.describe('arn:of:nothing')).rejects.toMatchObject({ name: 'ExecutionDoesNotExist' })
  })
})

test('an execution whose end cannot be stored stops no other execution, and the next start continues the execution', async () => {
  const store = openStateStore(':memory:')
  let tries = 0
  const full = () => {
    tries += 1
    throw new Error('database or disk is full')
  }
  const machines = startStateMachines({
    store: { ...store, end: full },
    time: stillTime(),
    definitions: new Map([
      ['m', { QueryLanguage: 'JSONata', StartAt: 'Done', States: { Done: { Type: 'Succeed' } } }],
    ]),
    invoke: async () => null,
  })
  machines.start('m', 'one', '{}')
  // an uncaught error would fail this test
  await until(() => tries === 2)
  expect(store.running()).toHaveLength(1)
  await machines.close()
})
