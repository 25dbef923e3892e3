import { SendTaskSuccessCommand } from '@aws-sdk/client-sfn'
import { describe, expect, test } from 'vitest'
import { defineWorkflow } from '../../../infra/constructs/workflow-definition.ts'
import { FunctionFault } from '../../../infra/local/states/task.ts'
import type { OperationStepResult } from '../../../shared/replication/operation/run.ts'
import type { WorkflowDefinition } from '../../../shared/workers/workflows.ts'
import { stateMachine, until } from './support.ts'

interface Order {
  workflow: string
  operation: string
  step: string
  at?: string
  error?: string
  token?: string
  options?: object
}

const workflow: WorkflowDefinition = {
  summary: 'of the test',
  authority: 'POST sys/example',
  steps: ['first', { seconds: 30 }, 'second'],
}
const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }

/** Runs the workflow. The test gives the answers or errors of the workflow's steps. */
async function running(
  answer: (order: Order, times: number) => OperationStepResult | undefined,
  input: object = { operation: 'op-1' },
) {
  const orders: Order[] = []
  const { States } = defineWorkflow('example', workflow, arns)
  const machine = await stateMachine(States, (_, order: Order) => {
    orders.push(order)
    return answer(order, orders.filter(({ step }) => step === order.step).length) ?? { next: 'done' }
  })
  return { machine, orders, arn: await machine.start(input, 'op-1') }
}
const steps = (orders: readonly Order[]) => orders.map(({ step }) => step)

describe('a workflow of the table', () => {
  test('does its steps in order, with waits between, and passes the steps only the operation', async () => {
    const { machine, orders, arn } = await running(() => undefined)
    await until(async () => (await machine.events(arn)).some(({ type }) => type === 'WaitStateEntered'))
    expect(steps(orders)).toEqual(['first'])
    machine.time.pass(30)
    expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
    expect(orders).toEqual([
      { workflow: 'example', operation: 'op-1', step: 'first' },
      { workflow: 'example', operation: 'op-1', step: 'second' },
    ])
  })

  test('repeats an unfinished step', async () => {
    const { machine, orders, arn } = await running(({ step }, times) =>
      step === 'first' && times < 3 ? { next: 'again' } : undefined,
    )
    await until(async () => (await machine.events(arn)).some(({ type }) => type === 'WaitStateEntered'))
    machine.time.pass(30)
    await machine.ended(arn)
    expect(steps(orders)).toEqual(['first', 'first', 'first', 'second'])
  })

  test('ends with the step `failed` after a final error', async () => {
    const { machine, orders, arn } = await running(({ step }) => {
      if (step === 'first') throw new FunctionFault('OperationFailed', 'refused')
      return undefined
    })
    expect(await machine.ended(arn)).toMatchObject({
      status: 'FAILED',
      error: 'OperationFailed',
      cause: 'first: OperationFailed',
    })
    expect(steps(orders)).toEqual(['first', 'failed'])
    expect(orders[1]).toMatchObject({ operation: 'op-1', at: 'first', error: 'OperationFailed' })
  })

  test('tries a step four times after any other error', async () => {
    const { machine, orders, arn } = await running(({ step }) => {
      if (step === 'first') throw new FunctionFault('TypeError', 'a mistake')
      return undefined
    })
    for (const tries of [1, 2, 3]) {
      await until(() => orders.length === tries)
      await until(async () => (await machine.events(arn)).at(-1)?.type === 'TaskFailed')
      machine.time.pass(60)
    }
    expect(await machine.ended(arn)).toMatchObject({ cause: 'first: TypeError' })
    expect(steps(orders)).toEqual(['first', 'first', 'first', 'first', 'failed'])
  })

  test('started by hand, waits for the authorised request and continues with its operation', async () => {
    const { machine, orders, arn } = await running(() => undefined, { force: true })
    await until(() => orders.length === 1)
    const [{ token = '', ...order } = { token: '' }] = orders
    expect(order).toEqual({ workflow: 'example', step: 'wait', options: { force: true } })
    const sent = machine.client.send(
      new SendTaskSuccessCommand({ taskToken: token, output: JSON.stringify({ operation: 'op-2' }) }),
    )
    await sent
    await until(async () => (await machine.events(arn)).some(({ type }) => type === 'WaitStateEntered'))
    machine.time.pass(30)
    expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
    expect(orders.slice(1)).toEqual([
      { workflow: 'example', operation: 'op-2', step: 'first' },
      { workflow: 'example', operation: 'op-2', step: 'second' },
    ])
  })

  test('started by hand, ends after an hour without a request', async () => {
    const { machine, orders, arn } = await running(() => undefined, {})
    await until(async () => (await machine.events(arn)).some(({ type }) => type === 'TaskScheduled'))
    await until(() => orders.length === 1)
    machine.time.pass(3599)
    expect((await machine.describe(arn)).status).toBe('RUNNING')
    machine.time.pass(1)
    expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
    expect(steps(orders)).toEqual(['wait'])
  })
})
