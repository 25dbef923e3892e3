import { expect, test } from 'vitest'
import { parseCallCounts } from '../../../../../../infra/local/commands/start/demonstration.ts'

test.each([
  ['{"calls":{"sts":1}}', { sts: 1 }],
  ['{"level":"INFO"}', undefined],
  ['{ an object that somebody printed', undefined],
  ['null', undefined],
  ['', undefined],
])('call counts are read only from log lines with call counts: %s', (line, calls) => {
  expect(parseCallCounts(line)).toEqual(calls)
})
