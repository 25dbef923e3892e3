/** The attributes of an instance that rules need, from DescribeInstances. */
export interface Instance {
  id: string
  state: string
  amiId?: string
  vpcId?: string
  subnetId?: string
  profileArn?: string
  tags: Readonly<Record<string, string>>
}

/**
 * An instance that has logged in at a role whose tokens end with their instance. The record expires a
 * minute after the longest of these tokens. Times are epoch milliseconds.
 */
export interface InstanceRecord {
  region: string
  /** `loggedInAt`: a login */
  loggedInAt: number
  /** `endedAt`: when the cluster learnt that the instance has ended; absent: the instance exists */
  endedAt?: number
}

/**
 * The progress of the rounds that ask EC2 about instances, because an event about an end may be lost. Times are
 * epoch milliseconds.
 */
export interface InstanceRound {
  startedAt: number
  /** `epoch` of this cluster at the start; a promotion begins another epoch; empty: the cluster is in no set */
  epoch: string
  /** `home`: name of the cluster's table at the start; a restore begins another table. Absent: an earlier version */
  home?: string
  /** `runUntil`: no other run continues the round before this time */
  runUntil: number
  /** `next`: where the round continues; absent: the round is complete */
  next?: { mount: string; after: string }
}
