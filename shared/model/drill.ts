/** What a rehearsed take-over came to. */
export interface TakeOverMeasurement {
  /** milliseconds in which neither cluster served, as far as looking every quarter of a second tells; null: nobody looked */
  unserved: number | null
  /** commits that the cluster which handed over had and its successor has not; null: not known yet */
  lost: number | null
}

/** The last drill that this cluster began, as its primary. Times are epoch milliseconds. */
export interface Drill {
  id: string
  status: 'running' | 'done' | 'refused' | 'stopped'
  /** what comes next, or where it stopped */
  step: string
  startedAt: number
  /** when that step began */
  stepAt: number
  /** name under which the other cluster is known here */
  peer: string
  there: TakeOverMeasurement
  back: TakeOverMeasurement
  /** why it was refused or stopped */
  text?: string
}
