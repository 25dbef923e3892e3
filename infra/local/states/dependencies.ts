import { setTimeout } from 'node:timers/promises'
import type { ExecutionHistoryEvent, StateStore, StoredExecution } from './store.ts'

/** The clock of the state machines, in epoch milliseconds. */
export interface StatesClock {
  now(): number
  /** waits for a moment; rejects if the signal aborts first */
  until(moment: number, signal: AbortSignal): Promise<void>
}

/** The ports and limits that the states of a state machine use. */
export interface StatesDependencies {
  store: StateStore
  time: StatesClock
  /** @throws FunctionFault, or another error */
  invoke(functionName: string, event: unknown): Promise<unknown>
  /** most events in the history of an execution */
  mostEvents: number
  /** called for each execution that did not succeed */
  onFailure(): void
  /** callbacks that wait for a task token to be answered */
  waiting: Map<string, () => void>
}

/** A running execution. */
export interface StateLogLine {
  execution: StoredExecution
  signal: AbortSignal
}

// longest delay of a JavaScript timer
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemStatesClock: StatesClock = {
  now: Date.now,
  until: async (moment, signal) => {
    for (;;) {
      signal.throwIfAborted()
      const left = moment - Date.now()
      if (left <= 0) return
      await setTimeout(Math.min(left, LONGEST_TIMER_MS), undefined, { signal, ref: false })
    }
  },
}

/** Writes an event to the history of an execution. @returns its number */
export const recordStateLine = (
  { store, time }: Pick<StatesDependencies, 'store' | 'time'>,
  arn: string,
  type: string,
  details: ExecutionHistoryEvent['details'],
): number => store.record(arn, { at: time.now(), type, details })
