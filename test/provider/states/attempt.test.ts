import { SendTaskSuccessCommand } from '@aws-sdk/client-sfn'
import { expect, test } from 'vitest'
import { defineAttemptWorkflow } from '../../../infra/constructs/attempt-definition.ts'
import { createAttemptHandler } from '../../../shared/workers/attempts.ts'
import { ceremonyWorld, unmasked } from '../../unit/ceremony/support.ts'
import { stateMachine, until } from './support.ts'

interface Order {
  step: string
  operation?: string
  token: string
}

const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }

/** Starts an execution that watches an attempt, with helpers that answer its waiting steps. */
async function watching(input: object) {
  const orders: Order[] = []
  const machine = await stateMachine(defineAttemptWorkflow(arns).States, (_, order: Order) => {
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
  /** waits until the workflow has sent a number of orders */
  const asked = (count: number) => until(() => orders.length === count)
  return { machine, arn, orders, answer, asked, entered }
}

test.each([
  ['completed', 'completed'],
  ['cancelled', 'cancelled'],
  ['lapsed', 'nobody submitted a recovery share for an hour'],
])('the execution of an attempt that is %s ends, and its history has the outcome', async (outcome, name) => {
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

test('the execution of an attempt asks its worker again after an hour without a signal', async () => {
  const { machine, arn, answer, asked, orders } = await watching({ operation: 'n-1' })
  await asked(1)
  machine.time.pass(3600)
  await asked(2)
  expect(orders[1]?.token).not.toBe(orders[0]?.token)
  await answer({ outcome: 'lapsed' })
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
})

test('an execution of an attempt that was started by hand waits for the request that begins an attempt', async () => {
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

test('only the answer to a ceremony request has the one-time password, and the history of a console execution shows just the progress', async () => {
  const w = await ceremonyWorld({ shares: 3, threshold: 2 }, { of: 'operation' })
  let waits = 0
  const machine = await stateMachine(defineAttemptWorkflow(arns).States, async (_, order: object) => {
    await createAttemptHandler(w.ports)(order)
    waits += 1
  })
  w.machines.workflows.signal = async (taskToken, answer) => {
    const command = new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(answer) })
    return machine.client.send(command).then(() => true)
  }
  const arn = await machine.start({})
  await until(() => waits === 1)
  const { nonce, otp } = (await w.start()).body
  expect(otp).toMatch(/^\w{33}$/)
  await until(() => waits === 2)
  const [a, b] = w.shares as [Buffer, Buffer]
  await w.give(nonce, a)
  await until(() => waits === 3)
  const { encoded_token } = (await w.give(nonce, b)).body
  expect(await machine.ended(arn)).toMatchObject({ status: 'SUCCEEDED' })
  expect(w.machines.started).toEqual([])
  const history = JSON.stringify(await machine.events(arn))
  expect(history).toContain('\\"progress\\":1')
  const secrets = [otp, encoded_token, unmasked(encoded_token, otp), a.toString('hex'), b.toString('hex')]
  for (const secret of secrets) expect(history).not.toContain(secret)
})
