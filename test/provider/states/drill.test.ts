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

/** Starts an execution of a drill. @param answer returns the worker's answer to the n-th call of a step */
async function drilling(answer: (step: string, times: number) => unknown) {
  const orders: Order[] = []
  const machine = await stateMachine(defineDrillWorkflow(arns).States, (_, order: Order) => {
    orders.push(order)
    return answer(order.step, orders.filter(({ step }) => step === order.step).length)
  })
  return { machine, orders, arn: await machine.start({ anything: 1 }, 'd-1') }
}

test('a drill does its steps in order, with the name of its execution', async () => {
  const { machine, arn, orders } = await drilling(() => ({ next: 'done' }))
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
  expect(orders.map(({ step }) => step)).toEqual(names)
  expect(new Set(orders.map(({ operation }) => operation))).toEqual(new Set(['d-1']))
})

test('an unfinished step is repeated after two seconds', async () => {
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

test('a drill that stops reports the stop once to its worker, and fails with the name of the step', async () => {
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
