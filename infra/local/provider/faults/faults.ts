import { randomUUID } from 'node:crypto'
import { createTextAnswer, type HttpAnswer } from '../wire/http.ts'

/** The effect of a fault; `hold` makes calls wait until they are released. */
export type ProviderFaultKind = 'throttle' | 'error' | 'reset' | 'delay' | 'hold' | 'answer'

/** An arranged fault; absent filters match everything. */
export interface ProviderFault {
  id: string
  service?: string | undefined
  action?: string | undefined
  account?: string | undefined
  /** Number of calls that the fault still affects. */
  times: number
  /** Number of matching calls that pass before the fault affects a call. */
  skip: number
  /**
   * `before`: the action does not take effect; `after`: the action takes effect and only its answer is lost.
   */
  when: 'before' | 'after'
  kind: ProviderFaultKind
  /**
   * Status of the error, for kind `error`; the service's own internal error when status and code are absent.
   */
  status?: number | undefined
  code?: string | undefined
  /** Milliseconds to wait before the fault takes effect. */
  delayMs: number
  /** The answer of a fault of kind `answer`, which is sent unchanged. */
  answer?: { status: number; contentType: string; body: string } | undefined
}

/** The facts of a call that a fault matches. */
export interface ProviderFaultFacts {
  service: string
  action: string
  account: string | null
}

/**
 * Returns the fault that hits this call, or undefined if no fault does, and counts the hit. A used-up fault
 * is removed.
 * @param faults changed in place
 */
export function takeProviderFault(
  faults: ProviderFault[],
  facts: ProviderFaultFacts,
): ProviderFault | undefined {
  for (const fault of faults) {
    if (!matches(fault, facts)) continue
    if (fault.skip > 0) {
      fault.skip--
      continue
    }
    fault.times--
    if (fault.times <= 0) faults.splice(faults.indexOf(fault), 1)
    return fault
  }
  return undefined
}

const matches = (fault: ProviderFault, facts: ProviderFaultFacts): boolean =>
  (fault.service ?? facts.service) === facts.service &&
  (fault.action ?? facts.action) === facts.action &&
  (fault.account ?? facts.account) === facts.account

/** Returns the raw answer of a fault of kind `answer`; default: an empty 200. */
export const rawFaultAnswer = ({ answer }: ProviderFault): HttpAnswer =>
  createTextAnswer(answer?.status ?? 200, answer?.contentType ?? 'text/plain', answer?.body ?? '')

/**
 * Arranges a fault after the existing faults.
 * @returns its id
 */
export function arrangeProviderFault(faults: ProviderFault[], fault: Omit<ProviderFault, 'id'>): string {
  const id = randomUUID()
  faults.push({ ...fault, id })
  return id
}

/** Waiting calls, by the id of the fault that holds them. */
export type HeldCalls = Map<string, (() => void)[]>

/** Holds a call until the fault is released. */
export const holdCall = (held: HeldCalls, { id }: ProviderFault): Promise<void> =>
  new Promise(resolve => {
    held.set(id, [...(held.get(id) ?? []), resolve])
  })

/** Ends the faults with an id, or all faults, and releases the calls that they hold. */
export function releaseHeldCalls(faults: ProviderFault[], held: HeldCalls, id?: string): void {
  const others = id === undefined ? [] : faults.filter(fault => fault.id !== id)
  faults.splice(0, faults.length, ...others)
  for (const [holder, calls] of [...held]) {
    if (id !== undefined && holder !== id) continue
    held.delete(holder)
    for (const go of calls) go()
  }
}
