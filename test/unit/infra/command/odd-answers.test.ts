import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { webServer } from '../../../support/service/server.ts'

// Runs the command as a process against a server with answers that no cluster sends. The command must print one
// escaped line and never a stack trace.

const deep = '{"data":{"mode":"primary","operation":{"name":'.concat(
  '['.repeat(100_000),
  ']'.repeat(100_000),
  '}}}',
)

async function commanded(words: readonly string[], body: string) {
  const { url } = await webServer(onTestFinished, (_, response) => response.end(body))
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    VAULT_ADDR: url,
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'x',
    CLOUD_AUTH_OPERATION_TOKEN: 't',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  }
  const named = words.map(word => word.replace('URL', url))
  const child = spawn(process.execPath, [`${checkoutRoot}infra/command/main.ts`, ...named], { env })
  child.stdin.end()
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { stdout, stderr, status }
}

describe.each([
  ['login', ['login', '--role', 'app']],
  ['status', ['status', 'URL']],
  ['switch', ['switch', '--yes', 'a=URL', 'b=URL']],
] as const)('%s', (_, words) => {
  test.each([
    ['a terminal sequence', '\x1b]0;title\x07\x9b2J'],
    ['an odd token', '{"auth":{"client_token":{"toString":1}}}'],
    ['an odd nonce', '{"auth":{"client_token":"t","metadata":{"nonce":"\\u001b[2J"}}}'],
    ['an odd status', '{"data":{"mode":{"toString":1},"secondaries":7}}'],
    ['a deep one', deep],
    ['a list', '[null]'],
  ])('fails with one line for %s', async (_, body) => {
    const { stdout, stderr, status } = await commanded(words, body)
    expect(status).toBeGreaterThan(0)
    expect(`${stdout}${stderr}`).toMatch(/^[\x20-\x7e\n]*$/)
    expect(stderr).not.toMatch(/^ +at /m)
    const [first = '', ...lines] = stderr.trim().split('\n')
    expect(first).toContain('NODE_TLS_REJECT_UNAUTHORIZED is ignored')
    if (words[0] === 'login') expect(lines).toHaveLength(1)
  })
})
