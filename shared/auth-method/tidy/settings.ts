import type { TidyRun, TidySettings } from '../../model/tidy.ts'

/** 72 h, in seconds. */
export const SAFETY_BUFFER_SECONDS = 72 * 3600

/** The names of the two lists that are tidied, as in paths. */
export const tidyLists = ['identity-accesslist', 'roletag-denylist'] as const

export type TidyList = (typeof tidyLists)[number]

/** The kind of item in each list. */
export const tidyListKinds = { 'identity-accesslist': 'access', 'roletag-denylist': 'deny' } as const

/** The tidy settings of a list that was never configured. */
export const defaultTidySettings: TidySettings = {
  safetyBuffer: SAFETY_BUFFER_SECONDS,
  disablePeriodicTidy: false,
}

const DAY_SECONDS = 86_400

/**
 * Returns an entry's epoch seconds for the index that tidy reads (`due`) and for DynamoDB's own deletion (`ttl`). `ttl` is one day
 * after tidy would remove the entry, and unset while periodic tidying is disabled.
 *
 * @param expiresAt epoch milliseconds
 */
export function tidyTimes(expiresAt: number, settings: TidySettings): { due: number; ttl?: number } {
  const due = Math.floor(expiresAt / 1000)
  return settings.disablePeriodicTidy ? { due } : { due, ttl: due + settings.safetyBuffer + DAY_SECONDS }
}

/** The run record of a list that was never tidied. */
export const neverRunTidy: TidyRun = {
  leaseUntil: 0,
  runner: '',
  startedAt: 0,
  endedAt: 0,
  removed: 0,
  failed: 0,
  nextAt: 0,
}
