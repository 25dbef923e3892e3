/** 72 h, in seconds. */
export const SAFETY_BUFFER = 72 * 3600

/** The two lists that are tidied, by their names in paths. */
export const tidyLists = ['identity-accesslist', 'roletag-denylist'] as const

export type TidyList = (typeof tidyLists)[number]

/** Tidy settings of one list. @see docs/spec/configuration.md#tidying */
export interface TidySettings {
  /** seconds */
  safetyBuffer: number
  disablePeriodicTidy: boolean
}

/** Which kind of item each list holds. */
export const kindOfList = { 'identity-accesslist': 'access', 'roletag-denylist': 'deny' } as const

/** What holds where nothing was ever configured. */
export const defaultTidy: TidySettings = { safetyBuffer: SAFETY_BUFFER, disablePeriodicTidy: false }

const DAY = 86_400

/**
 * Epoch seconds of an entry for the index that tidy reads, and for the engine's own deletion: a day after
 * tidy would have removed it, and never while periodic tidying is off.
 *
 * @param expiresAt epoch milliseconds
 */
export function sweepTimes(expiresAt: number, settings: TidySettings): { due: number; ttl?: number } {
  const due = Math.floor(expiresAt / 1000)
  return settings.disablePeriodicTidy ? { due } : { due, ttl: due + settings.safetyBuffer + DAY }
}

/** What is known of a list that never was tidied. */
export const noRun: TidyRun = {
  leaseUntil: 0,
  runner: '',
  startedAt: 0,
  endedAt: 0,
  removed: 0,
  failed: 0,
  nextAt: 0,
}

/** The last run over one list, and the guard against a second one. */
export interface TidyRun {
  /** epoch milliseconds until which the runner owns the list; 0: nobody does */
  leaseUntil: number
  /** who owns it */
  runner: string
  startedAt: number
  /** 0 while the run goes on */
  endedAt: number
  removed: number
  failed: number
  /** when the schedule will look at the list again */
  nextAt: number
}

/** Which settings the entries of a list carry the times of. Versions: the settings' `rev`, `none` for the defaults. */
export interface TidyStamp {
  /** version that the last hourly round saw */
  seen: string
  /** version that all entries follow */
  stamped: string
}
