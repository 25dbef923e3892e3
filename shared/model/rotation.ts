/** The guard of a rotation, and what a later rotation needs to clean up after one that crashed. */
export interface RotationGuard {
  /** epoch milliseconds until which its owner holds it; 0: nobody does */
  leaseUntil: number
  /** id of the request that holds it */
  owner: string
  /** epoch milliseconds at which a key was about to be created; 0 unless that key is not stored yet */
  makingSince: number
}
