import { setTimeout } from 'node:timers/promises'
import type { Execution, HistoryEvent, StateStore } from './store.ts'

/** Time as machines know it, epoch milliseconds. */
export interface Time {
  now(): number
  /** waits for a moment; rejects when the signal comes first */
  until(moment: number, signal: AbortSignal): Promise<void>
}

/** All that states may reach. */
export interface StatesDependencies {
  store: StateStore
  time: Time
  /** @throws FunctionFault, or what else goes wrong */
  invoke(functionName: string, event: unknown): Promise<unknown>
  /** events that the history of an execution may have */
  mostEvents: number
  /** told of each execution that has ended otherwise than well */
  onFailure(): void
  /** those who wait for something to happen to a task token */
  waiting: Map<string, () => void>
}

/** A running execution. */
export interface StateLine {
  execution: Execution
  signal: AbortSignal
}

// what timers can count to
const LONGEST_MS = 2 ** 31 - 1

export const systemTime: Time = {
  now: Date.now,
  until: async (moment, signal) => {
    for (;;) {
      signal.throwIfAborted()
      const left = moment - Date.now()
      if (left <= 0) return
      await setTimeout(Math.min(left, LONGEST_MS), undefined, { signal, ref: false })
    }
  },
}

/** Writes an event into the history of an execution. @returns its number */
export const record = (
  { store, time }: Pick<StatesDependencies, 'store' | 'time'>,
  arn: string,
  type: string,
  details: HistoryEvent['details'],
): number => store.record(arn, { at: time.now(), type, details })
