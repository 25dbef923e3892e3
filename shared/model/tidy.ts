/** Tidy settings of one list. @see docs/spec/configuration.md#tidying */
export interface TidySettings {
  /** seconds */
  safetyBuffer: number
  disablePeriodicTidy: boolean
}

/** The last tidy run over one list, and the guard against a second one. */
export interface TidyRun {
  /** epoch milliseconds until which its owner holds the list; 0: nobody does */
  leaseUntil: number
  /** id of the owner */
  runner: string
  startedAt: number
  /** 0 while the run is active */
  endedAt: number
  removed: number
  failed: number
  /** when the schedule checks the list again */
  nextAt: number
}

/**
 * The versions of the tidy settings that the entries of a list follow. A version is the settings' `rev`, or `none`
 * for the defaults.
 */
export interface TidyStamp {
  /** version seen by the last hourly round */
  seenVersion: string
  /** version that all entries follow */
  appliedVersion: string
}
