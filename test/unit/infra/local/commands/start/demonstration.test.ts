import { expect, test } from 'vitest'
import { readCalls } from '../../../../../../infra/local/commands/start/demonstration.ts'

test.each([
  ['{"calls":{"sts":1}}', { sts: 1 }],
  ['{"level":"INFO"}', undefined],
  ['{ an object that somebody printed', undefined],
  ['null', undefined],
  ['', undefined],
])('calls are read from lines of a log that report them, and from no other: %s', (line, calls) => {
  expect(readCalls(line)).toEqual(calls)
})
