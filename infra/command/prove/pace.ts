import { findBudgetFault } from './prices.ts'

/** A run stops before its end, and is torn down. */
export class RunEnded extends Error {
  /** the signal that stopped the run */
  readonly signal: string | undefined
  constructor(why: string, signal?: string) {
    super(why)
    this.signal = signal
  }
}

/** Lets a run go on, unless a signal, its time or its price stops the run. */
export interface Pace {
  /** milliseconds since the start */
  elapsed(): number
  /** @throws RunEnded if the run must stop */
  check(): void
  /** waits. @throws RunEnded as soon as the run must stop */
  sleep(ms: number): Promise<void>
}

export interface PaceSettings {
  limitUsd: number
  regions?: number
  /** aborted by a signal; the reason is the signal's name */
  signal: AbortSignal
  now(): number
  /** waits, and rejects when the signal is aborted */
  wait(ms: number, signal: AbortSignal): Promise<unknown>
}

/** Waits of a poll: short at first, because many stacks take seconds. */
export const pollDelay = (tries: number): number => Math.min(5000, 500 * 2 ** tries)

/** The clock of a teardown. */
export interface TeardownClock {
  /** waits, and is not ended by signals */
  sleep(ms: number): Promise<void>
  /** epoch milliseconds */
  now(): number
}

/** Returns the end of a run by a signal, or undefined while no signal has come. */
export const findSignalEnd = (signal: AbortSignal): RunEnded | undefined =>
  signal.aborted ? new RunEnded(`${signal.reason} ended the run`, String(signal.reason)) : undefined

/** Creates the pace of a run that starts now. */
export function createPace({ limitUsd, regions, signal, now, wait }: PaceSettings): Pace {
  const start = now()
  const elapsed = () => now() - start
  const check = (): void => {
    const ended = findSignalEnd(signal)
    if (ended !== undefined) throw ended
    const fault = findBudgetFault(elapsed(), limitUsd, regions)
    if (fault !== undefined) throw new RunEnded(fault)
  }
  return {
    elapsed,
    check,
    sleep: async ms => {
      check()
      await wait(ms, signal).catch(() => undefined)
      check()
    },
  }
}
