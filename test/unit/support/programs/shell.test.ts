import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { blocksOf } from '../../../support/programs/pages.ts'
import { openShell, type Shell } from '../../../support/programs/shell.ts'
import { webServer } from '../../../support/service/server.ts'

// Tests the shell in which operators work: what its first blocks set, and what happens to a block that fails.

let shell: Shell
afterEach(() => shell.close())

async function opened(options: { standIns?: readonly string[] } = {}): Promise<void> {
  shell = openShell({ cwd: checkoutRoot, ...options })
  await begin()
}
const begin = async () => {
  for (const block of blocksOf('README', 'The shell')) await shell.paste(block)
}

/** Starts a server that gives answers one after the other: status, body, seconds of Retry-After. */
async function answering(...answers: [status: number, body: string, retryAfter?: number][]): Promise<string> {
  const next = (response: ServerResponse) => {
    const [status, body, seconds] =
      answers.length > 1 ? (answers.shift() ?? [500, '']) : (answers[0] ?? [500, ''])
    if (seconds !== undefined) response.setHeader('retry-after', seconds)
    response.writeHead(status).end(body)
  }
  const { url } = await webServer(onTestFinished, (_, response) => next(response))
  return url
}

// the stand-ins for curl and jq give the same results
describe.each([
  { by: 'the programs of this machine', options: {} },
  { by: 'stand-ins', options: { standIns: ['curl', 'jq'] } },
])('a block of a runbook, by $by', ({ options }) => {
  beforeEach(() => opened(options))

  test('a refused block stops, and shows the server’s text above the prompt', async () => {
    const url = await answering([400, '{"errors":["no DR secondary: promote it first"]}'])
    const { status, stdout, stderr } = await shell.attempt(
      `KEY=$(ask -X POST ${url} | jq -er .data.key)\necho "went on with $KEY"`,
    )
    expect(status).not.toBe(0)
    expect(stderr).toContain('no DR secondary: promote it first')
    expect(stdout).not.toContain('went on')
    // the terminal still works after the failed block
    expect((await shell.paste('echo here')).stdout).toContain('here')
  })

  test('a block that does not end is reported with its output, and the shell and its processes are ended', async () => {
    const third = Promise.withResolvers<void>()
    let asked = 0
    const { url } = await webServer(onTestFinished, (_, response) => {
      response.writeHead(503).end('{"errors":["a sync is running"]}')
      asked += 1
      // at the third request the shell has printed the first answer
      if (asked === 3) third.resolve()
    })
    const patience = () => (asked < 3 ? third.promise : new Promise(() => undefined))
    const impatient = openShell({ cwd: checkoutRoot, patience, ...options })
    onTestFinished(impatient.close)
    await impatient.paste(`until curl -sS --fail-with-body ${url} >&2; do :; done`).then(
      () => expect.unreachable(),
      (error: Error) => {
        expect(error.message).toContain('has not ended in time')
        expect(error.message).toContain('a sync is running')
      },
    )
    expect((await impatient.attempt('echo here')).status).toBe(1)
  })

  test('a block that misses a field in an answer, or uses an unset variable, stops', async () => {
    const url = await answering([200, '{"data":{}}'])
    expect((await shell.attempt(`KEY=$(ask ${url} | jq -er .data.key)\necho on`)).stdout).not.toContain('on')
    await begin()
    const { status, stderr } = await shell.attempt('ask $NOBODY_HAS_SET_IT/sys/health')
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('unbound variable'),
    })
  })

  test('the block repeats a request after Retry-After, and prints the final answer', async () => {
    const url = await answering(
      [503, '{"errors":["the promotion takes longer"]}', 0],
      [503, '{"errors":["still"]}', 0],
      [200, '{"data":1}'],
    )
    const { stdout, stderr } = await shell.paste(`ask ${url} -d '{}' | jq -c .`)
    expect(stdout).toBe('{"data":1}\n')
    expect(stderr).toMatch(/takes longer[\s\S]*asking again in 0 s[\s\S]*still/)
  })

  test('the block repeats a request that the gateway answered instead of the cluster', async () => {
    const url = await answering([503, '{"message":"Service Unavailable"}'], [200, '{"data":1}'])
    // replaces `sleep`, so that the test does not wait as long as the page
    const { stdout, stderr } = await shell.paste(`sleep() { :; }\nask ${url} | jq -c .\nunset -f sleep`)
    expect([stdout, stderr]).toEqual(['{"data":1}\n', expect.stringContaining('asking again in 5 s')])
  })

  test('the block does not repeat a request without Retry-After, or without a listener', async () => {
    const url = await answering([503, 'sealed'], [200, '{}'])
    expect(await shell.attempt(`ask ${url}`)).toMatchObject({
      status: 22,
      stderr: expect.stringContaining('sealed'),
    })
    await begin()
    expect((await shell.attempt('ask http://127.0.0.1:1')).stderr).toContain('curl:')
  })
})

test("the README's blocks for a laptop and for AWS set the same variables, which the pages need", async () => {
  await opened()
  const set = (heading: string) =>
    new Set(
      [
        ...blocksOf('README', heading)
          .join('\n')
          .matchAll(/(?:^|\s)([A-Z][A-Z_0-9]*)=/gm),
      ].map(([, name = '']) => name),
    )
  const [laptop, aws] = [set('On a laptop'), set('On AWS')]
  const credentials = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']
  expect([...aws].toSorted()).toEqual([...laptop].filter(name => !credentials.includes(name)).toSorted())
  // pastes the block with its lines unchanged, and nothing in the environment
  const [block = ''] = blocksOf('README', 'On AWS')
  await shell.paste(block)
  expect(await shell.value('EAST')).toBe('https://auth-east.example.com/v1')
  expect(await shell.value('AWS_WEST')).toBe('aws --region us-west-2')
})

test("without the AWS command line, the test's stand-in makes the same call", async () => {
  await opened({ standIns: ['aws'] })
  const machine = 'arn:aws:states:us-west-2:111122223333:stateMachine:cloud-auth-dev-promotion'
  const named = { name: 'cloud-auth-dev-promotion', stateMachineArn: machine }
  const asked: unknown[] = []
  const { url } = await webServer(onTestFinished, ({ headers }, response) => {
    asked.push(headers['x-amz-target'])
    response.end(
      JSON.stringify({
        stateMachines: [named],
        executionArn: 'arn:aws:states:::execution:1',
        startDate: 1,
      }),
    )
  })
  await shell.paste(
    `export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b\nAWS_WEST="aws --region us-west-2 --endpoint-url ${url}"`,
  )
  const block = blocksOf('planned-switch').find(one => one.includes('start-execution')) ?? ''
  expect((await shell.paste(block)).stdout).toContain('execution:1')
  expect(await shell.value('WEST_PROMOTION')).toBe(machine)
  expect(asked).toEqual(['AWSStepFunctions.ListStateMachines', 'AWSStepFunctions.StartExecution'])
})
