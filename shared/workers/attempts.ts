import * as v from 'valibot'
import { recordAttemptWatcher } from '../ceremony/watch.ts'
import type { Ports } from '../ports.ts'

const token = v.pipe(v.string(), v.nonEmpty())

/**
 * The input of the ceremony workflow. Both steps of the ceremony workflow wait until a worker answers with the
 * token.
 */
const order = v.variant('step', [
  v.object({ step: v.literal('wait'), token }),
  v.object({ step: v.literal('watch'), operation: v.pipe(v.string(), v.nonEmpty()), token }),
])

/** Returns the handler of `on-attempt`: it stores the token of an execution that waits for an attempt, or watches one. */
export const createAttemptHandler =
  (ports: Ports) =>
  async (event: unknown): Promise<void> => {
    const input = v.parse(order, event)
    await recordAttemptWatcher(input.step === 'watch' ? input.operation : '', input.token, ports)
  }
