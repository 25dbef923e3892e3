/** Tidy settings of one list. @see docs/spec/configuration.md#tidying */
export interface TidySettings {
  /** seconds */
  safetyBuffer: number
  disablePeriodicTidy: boolean
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
  seenVersion: string
  /** version that all entries follow */
  appliedVersion: string
}
