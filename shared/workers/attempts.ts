import * as v from 'valibot'
import { noteWatcher } from '../ceremony/watch.ts'
import type { Ports } from '../ports.ts'

const token = v.pipe(v.string(), v.nonEmpty())

/** What the workflow of an attempt asks for: both steps wait until somebody answers with the token. */
const order = v.variant('step', [
  v.object({ step: v.literal('wait'), token }),
  v.object({ step: v.literal('watch'), operation: v.pipe(v.string(), v.nonEmpty()), token }),
])

/** Notes that an execution waits for an attempt, or watches one. */
export const attemptHandler =
  (ports: Ports) =>
  async (event: unknown): Promise<void> => {
    const given = v.parse(order, event)
    await noteWatcher(given.step === 'watch' ? given.operation : '', given.token, ports)
  }
