import { abandon, endActivation, firstSync } from './first-sync.ts'
import { handshake } from './handshake.ts'
import type { ActivationResult, ActivationRun } from './run.ts'
import { close, wipe } from './wipe.ts'

/**
 * The steps that make a cluster a secondary, in their order; half a minute has to pass between `close` and `wipe`.
 * Each may be taken any number of times, by several at once, and be left at any point.
 */
export const activationSteps: Readonly<
  Record<string, (run: ActivationRun, operation: string) => Promise<ActivationResult>>
> = { handshake, close, wipe, sync: firstSync, serve: endActivation }

/** What follows when a step is given up. */
export const activationFailed = abandon
