import { afterAll, beforeAll, vi } from 'vitest'
import { clock } from './clock.ts'

/**
 * Whatever is repeated is repeated at once, in the file that says this: the service sleeps by its clock, and the SDK
 * waits for a random part of its backoff.
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
