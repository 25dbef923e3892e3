import type { OperationStep } from '../operation/run.ts'
import { abandon, endActivation, firstSync } from './first-sync.ts'
import { handshake } from './handshake.ts'
import { close, wipe } from './wipe.ts'

/** The steps that make a cluster a secondary, in their order; half a minute has to pass between `close` and `wipe`. */
export const activationSteps: Readonly<Record<string, OperationStep>> = {
  handshake,
  close,
  wipe,
  sync: firstSync,
  serve: endActivation,
}

/** Called when a step is given up. */
export const activationFailed = abandon
