import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { closedPort } from '../support/service/server.ts'

// The tests of the runbooks run the drill itself; these tests check its command line.

const drill = (...options: string[]) => drillIn({}, ...options)

async function drillIn(environment: Record<string, string>, ...options: string[]) {
  const env = { ...process.env, ...environment }
  const child = spawn(process.execPath, ['infra/local/commands/drill/main.ts', ...options], {
    cwd: checkoutRoot,
    env,
  })
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { status, stdout, stderr }
}

test('npm run drill -- --help prints options and exit codes', async () => {
  const { status, stdout, stderr } = await drill('--help')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/--json[\s\S]*exit code is 0 if the drill passed/)
})

test('npm run drill with an unknown option prints one line and starts nothing', async () => {
  const { status, stdout, stderr } = await drill('--nonsense')
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(/--nonsense.*--help/)])
})

test('npm run drill prints a failed verdict as JSON without a stack trace when the drill cannot start', async () => {
  const nowhere = { DYNAMODB_ENDPOINT: await closedPort() }
  const { status, stdout, stderr } = await drillIn(nowhere, '--json')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^\[ +\d+ s\] Starting east and west\. .*\n$/)
  expect(JSON.parse(stdout)).toMatchObject({ verdict: 'failed', parts: [], faults: [expect.any(String)] })
})
