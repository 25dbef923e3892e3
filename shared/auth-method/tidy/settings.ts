import type { TidyRun, TidySettings } from '../../model/tidy.ts'

/** 72 h, in seconds. */
export const SAFETY_BUFFER_SECONDS = 72 * 3600

/** The two lists that are tidied, by their names in paths. */
export const tidyLists = ['identity-accesslist', 'roletag-denylist'] as const

export type TidyList = (typeof tidyLists)[number]

/** Which kind of item each list holds. */
export const kindOfList = { 'identity-accesslist': 'access', 'roletag-denylist': 'deny' } as const

/** What holds where nothing was ever configured. */
export const defaultTidy: TidySettings = { safetyBuffer: SAFETY_BUFFER_SECONDS, disablePeriodicTidy: false }

const DAY_SECONDS = 86_400

/**
 * Epoch seconds of an entry for the index that tidy reads, and for the engine's own deletion: a day after
 * tidy would have removed it, and never while periodic tidying is off.
 *
 * @param expiresAt epoch milliseconds
 */
export function sweepTimes(expiresAt: number, settings: TidySettings): { due: number; ttl?: number } {
  const due = Math.floor(expiresAt / 1000)
  return settings.disablePeriodicTidy ? { due } : { due, ttl: due + settings.safetyBuffer + DAY_SECONDS }
}

/** What is known of a list that never was tidied. */
export const neverRun: TidyRun = {
  leaseUntil: 0,
  runner: '',
  startedAt: 0,
  endedAt: 0,
  removed: 0,
  failed: 0,
  nextAt: 0,
}
