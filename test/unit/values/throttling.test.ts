import { expect, test } from 'vitest'
import { isThrottlingCode } from '../../../shared/values/throttling.ts'

test.each([
  ['Throttling', true],
  ['ThrottlingException', true],
  ['RequestLimitExceeded', true],
  ['TooManyRequestsException', true],
  ['SlowDown', true],
  ['throttling', false],
  ['AccessDenied', false],
  ['', false],
  [undefined, false],
])('the code %s means throttling: %s', (code, expected) => {
  expect(isThrottlingCode(code)).toBe(expected)
})
