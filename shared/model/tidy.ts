/** Tidy settings of one list. @see docs/spec/configuration.md#tidying */
export interface TidySettings {
  /** seconds */
  safetyBuffer: number
  disablePeriodicTidy: boolean
}

/** The last tidy run over one list, and the guard against a second concurrent run. */
export interface TidyRun {
  /** `leaseUntil`: epoch milliseconds until which the runner holds the list; 0: nobody holds it */
  leaseUntil: number
  /** `runner`: id of the run that holds the list */
  runner: string
  startedAt: number
  /** 0 while the run is active */
  endedAt: number
  removed: number
  failed: number
  /** `nextAt`: when the schedule checks the list again */
  nextAt: number
}

/**
 * The versions of the tidy settings that the entries of a list follow. A version is the settings' `rev`, or `none`
 * for the defaults.
 */
export interface TidyStamp {
  /** `seenVersion`: version of the settings that the last hourly round saw */
  seenVersion: string
  /** `appliedVersion`: version of the settings that all entries follow */
  appliedVersion: string
}
