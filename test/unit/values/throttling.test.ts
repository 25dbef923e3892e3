import { expect, test } from 'vitest'
import { isThrottling } from '../../../shared/values/throttling.ts'

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
  expect(isThrottling(code)).toBe(expected)
})
