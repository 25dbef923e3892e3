import { afterAll, beforeAll, vi } from 'vitest'
import { clock } from './clock.ts'

/**
 * Makes all retries of this test file immediate. Without this, the service would sleep by its clock, and the
 * SDK for a random part of its backoff.
 */
export function withoutWaiting(): void {
  beforeAll(() => {
    clock.skip()
    vi.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterAll(() => {
    clock.reset()
    vi.restoreAllMocks()
  })
}
