import { SendTaskSuccessCommand } from '@aws-sdk/client-sfn'
import { expect, test } from 'vitest'
import { attemptDefinition } from '../../../infra/constructs/attempt-definition.ts'
import { stateMachine, until } from './support.ts'

interface Order {
  step: string
  operation?: string
  token: string
}

const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }

/** An execution that watches, and how its steps that wait are answered. */
async function watching(input: object) {
  const orders: Order[] = []
  const machine = await stateMachine(attemptDefinition(arns).States, (_, order: Order) => {
    orders.push(order)
    return null
  })
  const arn = await machine.start(input, 'n-1')
  const answer = (output: object) =>
    machine.client.send(
      new SendTaskSuccessCommand({ taskToken: orders.at(-1)?.token, output: JSON.stringify(output) }),
    )
  const entered = async () =>
    (await machine.events(arn)).flatMap(({ stateEnteredEventDetails: state }) => state?.name ?? [])
  /** waits until so many things have been asked for */
  const asked = (count: number) => until(() => orders.length === count)
  return { machine, arn, orders, answer, asked, entered }
}

test.each([
  ['completed', 'completed'],
  ['cancelled', 'cancelled'],
  ['lapsed', 'nobody gave a share for an hour'],
])('an attempt that is %s ends its execution, whose history says so', async (outcome, name) => {
  const { machine, arn, answer, asked, entered, orders } = await watching({ operation: 'n-1' })
  await asked(1)
  await answer({ outcome: 'share', progress: 1, required: 3 })
  await asked(2)
  await answer({ outcome })
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
  expect((await entered()).slice(1)).toEqual([
    'wait for a share',
    'what has happened?',
    'wait for a share',
    'what has happened?',
    name,
  ])
  expect(orders.map(({ step, operation }) => [step, operation])).toEqual(Array(2).fill(['watch', 'n-1']))
})

test('when nothing was told for an hour it asks again', async () => {
  const { machine, arn, answer, asked, orders } = await watching({ operation: 'n-1' })
  await asked(1)
  machine.time.pass(3600)
  await asked(2)
  expect(orders[1]?.token).not.toBe(orders[0]?.token)
  await answer({ outcome: 'lapsed' })
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
})

test('started by hand, it waits for the request that begins an attempt', async () => {
  const { machine, arn, answer, asked, orders, entered } = await watching({})
  await asked(1)
  expect(orders[0]?.step).toBe('wait')
  expect((await entered()).at(-1)).toBe(
    'wait for POST sys/replication/dr/secondary/generate-operation-token/attempt',
  )
  await answer({ operation: 'n-2' })
  await asked(2)
  expect(orders[1]).toMatchObject({ step: 'watch', operation: 'n-2' })
  await answer({ outcome: 'completed' })
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
})
