import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { eventually } from '../support/programs/killed-hosts.ts'

const PROGRAM = `
  import { startEmulator } from './test/deployed/emulator.ts'
  const { url, variables } = await startEmulator([])
  process.stdout.write(JSON.stringify({ url, folder: variables.TMPDIR }) + '\\n')
`

test('the emulator ends, and its folder is deleted, when the program that started it is killed', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    cwd: checkoutRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { url, folder } = JSON.parse(line.toString('utf8')) as { url: string; folder: string }
  const answers = () =>
    fetch(`${url}/_ministack/health`).then(
      () => true,
      () => false,
    )
  expect([await answers(), existsSync(folder)]).toEqual([true, true])
  child.kill('SIGKILL')
  await eventually(async () => ((await answers()) || existsSync(folder) ? undefined : true))
})
