import { expect, test } from 'vitest'
import { defineDrillWorkflow } from '../../../infra/constructs/drill-definition.ts'
import { FunctionFault } from '../../../infra/local/states/task.ts'
import { drillSteps } from '../../../shared/replication/drill/steps.ts'
import { stateMachine, until } from './support.ts'

interface Order {
  operation: string
  step: string
  error?: string
}

const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }
const names = [...drillSteps.map(({ name }) => name), 'report']

/** An execution of a drill. @param answer of its worker, at the n-th time that a step is asked for */
async function drilling(answer: (step: string, times: number) => unknown) {
  const orders: Order[] = []
  const machine = await stateMachine(defineDrillWorkflow(arns).States, (_, order: Order) => {
    orders.push(order)
    return answer(order.step, orders.filter(({ step }) => step === order.step).length)
  })
  return { machine, orders, arn: await machine.start({ anything: 1 }, 'd-1') }
}

test('a drill takes its steps in their order, under the name of its execution', async () => {
  const { machine, arn, orders } = await drilling(() => ({ next: 'done' }))
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
  expect(orders.map(({ step }) => step)).toEqual(names)
  expect(new Set(orders.map(({ operation }) => operation))).toEqual(new Set(['d-1']))
})

test('a step that is not done is asked for again after two seconds', async () => {
  const { machine, arn, orders } = await drilling((step, times) => ({
    next: step === 'settle' && times === 1 ? 'again' : 'done',
  }))
  await until(() => orders.at(-1)?.step === 'settle')
  await until(async () =>
    (await machine.events(arn)).some(({ stateEnteredEventDetails: at }) => at?.name === 'settle goes on'),
  )
  machine.time.pass(2)
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
  expect(orders.filter(({ step }) => step === 'settle')).toHaveLength(2)
})

test('a drill that stops says so to its worker, once, and fails under the name of the step', async () => {
  const { machine, arn, orders } = await drilling(step => {
    if (step === 'back') throw new FunctionFault('DrillStopped', 'promote on own answers 403')
    return { next: 'done' }
  })
  expect(await machine.ended(arn)).toMatchObject({
    status: 'FAILED',
    error: 'DrillStopped',
    cause: 'back: DrillStopped',
  })
  expect(orders.slice(-2)).toMatchObject([
    { step: 'back' },
    { step: 'stopped', operation: 'd-1', error: 'DrillStopped' },
  ])
})
