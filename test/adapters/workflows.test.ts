import { ListExecutionsCommand, StopExecutionCommand } from '@aws-sdk/client-sfn'
import { describe, expect, test, vi } from 'vitest'
import { createStepFunctions } from '../../shared/adapters/aws/workflows.ts'
import { PREFIX, stateMachine, tokenTask, until } from '../provider/states/support.ts'
import { closedPort } from '../support/service/server.ts'

const meter = { count: () => undefined, measure: () => Promise.reject(new Error('not here')) }

/** Returns the port to a service at an address. */
function portTo(url: string) {
  vi.stubEnv('AWS_ENDPOINT_URL_SFN', url)
  vi.stubEnv('AWS_REGION', 'eu-west-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'a')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'b')
  return createStepFunctions(PREFIX, meter)
}

describe('workflows on Step Functions', () => {
  test('an operation that is started twice has one execution, whose input is only the operation ID', async () => {
    const machine = await stateMachine({ A: { Type: 'Succeed' } })
    const port = portTo(machine.url)
    expect(await port.start('m', 'op-1')).toBe('runs')
    await machine.ended(`${machine.arn.replace('stateMachine', 'execution')}:op-1`)
    expect(await port.start('m', 'op-1')).toBe('ended')
    await port.start('m', 'op-2')
    const { executions = [] } = await machine.client.send(
      new ListExecutionsCommand({ stateMachineArn: machine.arn }),
    )
    expect(executions.map(({ name }) => name)).toEqual(['op-2', 'op-1'])
    const { input } = await machine.describe(executions[1]?.executionArn ?? '')
    expect(input).toBe('{"operation":"op-1"}')
  })

  test('an unfinished operation gets another execution after the earlier one ended', async () => {
    const machine = await stateMachine({ A: tokenTask() }, () => undefined)
    const port = portTo(machine.url)
    expect([await port.start('m', 'op'), await port.start('m', 'op')]).toEqual(['runs', 'runs'])
    const executionArn = `${machine.arn.replace('stateMachine', 'execution')}:op`
    await machine.client.send(new StopExecutionCommand({ executionArn }))
    expect([await port.start('m', 'op'), await port.start('m', 'op', 1)]).toEqual(['ended', 'runs'])
    const { input } = await machine.describe(`${executionArn}-2`)
    expect(input).toBe('{"operation":"op"}')
  })

  test('a waiting step is answered once, later signals find no step', async () => {
    const tokens: string[] = []
    const machine = await stateMachine({ A: tokenTask() }, (_, { token }: { token: string }) => {
      tokens.push(token)
    })
    const port = portTo(machine.url)
    await port.start('m', 'op')
    await until(() => tokens.length === 1)
    expect(await port.signal(tokens[0] ?? '', { done: true })).toBe(true)
    const arn = `${machine.arn.replace('stateMachine', 'execution')}:op`
    expect(await machine.ended(arn)).toMatchObject({ output: { done: true } })
    expect(await port.signal(tokens[0] ?? '', {})).toBe(false)
    expect(await port.signal('guessed', {})).toBe(false)
  })

  test('a call fails as busy when Step Functions cannot be reached', async () => {
    const port = portTo(await closedPort())
    await expect(port.start('m', 'op')).rejects.toMatchObject({ code: 'busy' })
    await expect(port.signal('x', {})).rejects.toMatchObject({ code: 'busy' })
  })

  test('a call fails as busy when the state machine is missing', async () => {
    const machine = await stateMachine({ A: { Type: 'Succeed' } })
    await expect(portTo(machine.url).start('other', 'op')).rejects.toMatchObject({ code: 'busy' })
  })
})
