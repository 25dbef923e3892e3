/** The guard of a rotation, and what a later one needs to clear up behind one that crashed. */
export interface Rotation {
  /** epoch milliseconds until which the runner owns it; 0: nobody does */
  leaseUntil: number
  /** the request that owns it */
  owner: string
  /** epoch milliseconds at which a key was about to be made; 0 unless that key is not stored yet */
  makingSince: number
}
