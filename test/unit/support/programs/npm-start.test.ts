import { afterAll, expect, test } from 'vitest'
import { cleanUp, start } from '../../../support/programs/npm-start.ts'

afterAll(cleanUp)

test('waiting for a text of npm start fails when the process is killed', async () => {
  const run = start('--help')
  run.child.kill('SIGKILL')
  await expect(run.until('Serving.')).rejects.toThrow('ended with SIGKILL')
})
