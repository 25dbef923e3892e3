import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createLogLineWriter } from '../../../../../infra/local/host/function-lines.ts'
import { AUDIT_UNWRITABLE_TEXT } from '../../../../../shared/api/errors.ts'

let directory: string
let printed: string[]
let take: (line: string) => void
beforeEach(() => {
  directory = mkdtempSync(`${tmpdir()}/cloud-auth-lines-`)
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  printed = []
  take = createLogLineWriter(directory, text => printed.push(text))
})

test('the embedded host stores log lines of functions and does not print them', async () => {
  take('one')
  take('two')
  await setImmediate()
  expect(readFileSync(`${directory}/functions.log`, 'utf8')).toBe('one\ntwo\n')
  expect(printed).toEqual([])
})

test('an unwritable audit log is printed once, with its file and what to do', () => {
  const line = JSON.stringify({
    level: 'ERROR',
    message: 'request',
    cause: [`${AUDIT_UNWRITABLE_TEXT} (ENOSPC)`],
  })
  take(line)
  take(line)
  expect(printed).toEqual([
    `${directory}/audit.log: ${AUDIT_UNWRITABLE_TEXT} (ENOSPC). Until then requests are answered with 503.`,
  ])
})

test('a full disk under functions.log is printed once', async () => {
  symlinkSync('/dev/full', `${directory}/functions.log`)
  for (const line of ['one', 'two']) {
    take(line)
    await setImmediate()
  }
  expect(printed).toEqual([
    `${directory}/functions.log cannot be written (ENOSPC): log lines of functions are lost`,
  ])
})

test('a directory that was removed with its cluster causes no message', async () => {
  rmSync(directory, { recursive: true })
  take('one')
  await setImmediate()
  mkdirSync(directory)
  expect(printed).toEqual([])
})
