import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../../../infra/checkout.ts'

const folder = mkdtempSync(`${tmpdir()}/state-`)
afterAll(() => rmSync(folder, { recursive: true }))
writeFileSync(`${folder}/file`, '')

const commands = {
  'npm start -- --once': ['infra/local/main.mjs', '--once', '--port', '0'],
  'npm start -- --memory': ['infra/local/main.mjs', '--memory', '--once', '--port', '0'],
  'npm start -- --pair': ['infra/local/main.mjs', '--pair', '--once', '--port', '0'],
  'npm run drill': ['infra/local/commands/drill/main.ts'],
} as const

describe.each(Object.entries(commands))('%s', (_name, words) => {
  test.each([
    'below /proc, where Node’s recursive mkdir never returns: /proc/nothing',
    `below a file: ${folder}/file/state`,
  ])('the program ends with one line and code 1 when CLOUD_AUTH_STATE is %s', title => {
    const state = title.split(': ').at(-1) as string
    const { status, stdout, stderr } = spawnSync(process.execPath, [...words], {
      cwd: checkoutRoot,
      env: { ...process.env, CLOUD_AUTH_STATE: state },
      encoding: 'utf8',
      timeout: 60_000,
      // a process that hangs in a system call reacts to no other signal
      killSignal: 'SIGKILL',
    })
    expect({ status, stdout, lines: stderr.trimEnd().split('\n') }).toEqual({
      status: 1,
      stdout: '',
      lines: [
        expect.stringMatching(
          new RegExp(`^the state directory ${state} cannot be written \\(E.*CLOUD_AUTH_STATE`),
        ),
      ],
    })
  })
})
