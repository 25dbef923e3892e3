import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../infra/constructs/workflow-definition.ts'
import { FunctionFault } from '../../../infra/local/states/task.ts'
import type { StepResult } from '../../../shared/replication/operation/run.ts'
import type { Workflow } from '../../../shared/workers/workflows.ts'
import { stateMachine, until } from './support.ts'

interface Order {
  workflow: string
  operation: string
  step: string
  at?: string
  error?: string
}

const workflow: Workflow = { summary: 'of the test', steps: ['first', { seconds: 30 }, 'second'] }
const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }

/** Runs the workflow; its steps answer, or throw, as a test says. */
async function running(answer: (order: Order, times: number) => StepResult | undefined) {
  const orders: Order[] = []
  const { States } = definitionOf('example', workflow, arns)
  const machine = await stateMachine(States, (_, order: Order) => {
    orders.push(order)
    return answer(order, orders.filter(({ step }) => step === order.step).length) ?? { next: 'done' }
  })
  return { machine, orders, arn: await machine.start({ operation: 'op-1' }, 'op-1') }
}
const steps = (orders: readonly Order[]) => orders.map(({ step }) => step)

describe('a workflow of the table', () => {
  test('does its steps in order, with waits between, and tells them nothing but the operation', async () => {
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

  test('does a step again that is not done', async () => {
    const { machine, orders, arn } = await running(({ step }, times) =>
      step === 'first' && times < 3 ? { next: 'again' } : undefined,
    )
    await until(async () => (await machine.events(arn)).some(({ type }) => type === 'WaitStateEntered'))
    machine.time.pass(30)
    await machine.ended(arn)
    expect(steps(orders)).toEqual(['first', 'first', 'first', 'second'])
  })

  test('ends with the step that writes down what failed, where that is final', async () => {
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

  test('tries anything else four times', async () => {
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
})
