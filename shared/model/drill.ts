/** The measurements of a rehearsed take-over. */
export interface TakeOverMeasurement {
  /** milliseconds in which neither cluster served, measured every quarter of a second; null: not measured */
  unserved: number | null
  /** commits that the old primary had and its successor lacks; null: not known yet */
  lost: number | null
}

/** The last drill that this cluster began as primary. Times of a drill are epoch milliseconds. */
export interface DrillRecord {
  id: string
  status: 'running' | 'done' | 'refused' | 'stopped'
  /** `step`: the next step, or the step at which the drill stopped */
  step: string
  startedAt: number
  /** when the step began */
  stepAt: number
  /** the other cluster's name on this cluster */
  peer: string
  there: TakeOverMeasurement
  back: TakeOverMeasurement
  /** why the drill was refused or stopped */
  text?: string
}
