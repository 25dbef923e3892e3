/** The guard of a rotation, and the facts that a later rotation needs to clean up after a crashed rotation. */
export interface RotationGuard {
  /** `leaseUntil`: epoch milliseconds until which its owner holds the guard; 0: nobody holds it */
  leaseUntil: number
  /** `owner`: id of the request that holds the guard */
  owner: string
  /** `makingSince`: epoch milliseconds at which a key was about to be created; 0 unless that key is not stored yet */
  makingSince: number
}
