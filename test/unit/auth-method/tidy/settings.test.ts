import { describe, expect, test } from 'vitest'
import {
  defaultTidySettings,
  SAFETY_BUFFER_SECONDS,
  tidyTimes,
} from '../../../../shared/auth-method/tidy/settings.ts'

describe('the deletion times of an entry', () => {
  test('the TTL is 72 h plus a day after expiration, unless configured otherwise', () => {
    expect(SAFETY_BUFFER_SECONDS).toBe(259_200)
    expect(defaultTidySettings).toEqual({ safetyBuffer: 259_200, disablePeriodicTidy: false })
  })

  test.each([
    [0, 0, { due: 0, ttl: 86_400 }],
    [1999, 10, { due: 1, ttl: 1 + 10 + 86_400 }],
    [5_000_000, 259_200, { due: 5000, ttl: 5000 + 259_200 + 86_400 }],
  ])(
    'an entry that expired at %i ms, with a buffer of %i s, has the times %j',
    (expiresAt, safetyBuffer, times) => {
      expect(tidyTimes(expiresAt, { safetyBuffer, disablePeriodicTidy: false })).toEqual(times)
      expect(tidyTimes(expiresAt, { safetyBuffer, disablePeriodicTidy: true })).toEqual({ due: times.due })
    },
  )
})
