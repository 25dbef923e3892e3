import type { Encrypted } from '../values/secret.ts'
import type { MadeKeyring } from './cluster.ts'
import type { Statement } from './link.ts'

/** What takes several steps, each by the workflow of that name. */
export type OperationName =
  | 'activation'
  | 'demotion'
  | 'promotion'
  | 'update-primary'
  | 'disable'
  | 'merkle-check'
  | 'reindex'

/** A change of the cluster's role that takes several steps: the truth of its workflow. Times are epoch milliseconds. */
export interface OperationState {
  name: OperationName
  status: 'running' | 'done' | 'failed'
  /** the step that comes next */
  step: string
  startedAt: number
  changedAt: number
  /** the step that comes next begins then; absent: as soon as it can */
  waitsUntil?: number
  /** of an activation, and of a secondary that takes another primary by token */
  activation?: ActivationInput
  reindex?: ReindexInput
  promotion?: PromotionState
  /** where it is in the journal, for whoever waits: `<epoch>/<number>` */
  position?: string
  /** of a secondary that takes another primary, or none */
  primaryUpdate?: PrimaryUpdate
  fault?: OperationFault
}

/** An execution that was started by hand: it waits for the request that authorises it. */
export interface WaitingExecution {
  /** epoch milliseconds: then it is over */
  until: number
  /** by which it is answered, encrypted as the field `token` */
  token: Encrypted
  /** what it was started with: the request's own parameters come first */
  options: Readonly<Record<string, unknown>>
}

/** Why an operation was given up, in the words that its caller is told. */
export interface OperationFault {
  /** `passed_over`: what it was begun for is not there any more, and the text says what to do instead */
  code: 'invalid_request' | 'busy' | 'activation_failed' | 'passed_over' | 'internal'
  /** status shows it to anyone */
  text: string
  /** the text of an unexpected error, for the caller of the operation alone */
  detail?: string | undefined
  /** seconds after which the request may succeed when it is repeated; absent: the operation's usual ones */
  retryAfter?: number
}

/** How the tree is made anew. */
export interface ReindexInput {
  /** a secondary compares what it has with its primary, too, and fetches what differs */
  diff: boolean
  /** hashes of all pages are made anew, not only of those that do not fit */
  force: boolean
  /** hashes of pages are left to the worker of the journal */
  skipFlush: boolean
}

/** What an administrator gave to make this cluster a secondary. */
export interface ActivationInput {
  /** encrypted as the field `token` of the operation; absent once it has been used */
  token?: Encrypted
  /** where the primary is reached, instead of the address in the token; empty: there */
  primaryApiAddr: string
  /** where this cluster is reached; absent: as the deployment says */
  address?: string
  /** certificates that vouch for the primary's, PEM; absent: the usual ones */
  ca?: string
}

/** A promotion: what was asked for, and what has become of it so far. */
export interface PromotionState {
  force: boolean
  /** address that secondaries shall be given; absent: as before */
  address?: string
  /** HMAC of the operation token and the flags: by it a repetition is known */
  requestHmac: string
  /** what its caller is told, besides that it succeeded */
  warnings: readonly string[]
  /** whether the primary is asked to hand over; absent: it has not been decided */
  requestsHandover?: boolean
  /** epoch milliseconds at which it was asked first: from then on it may have ended its epoch */
  handoverRequestedAt?: number
  /** position up to which the primary's journal goes, and the epoch that ended there, as it acknowledged */
  end?: { epoch: string; seq: number; closedEpoch: string }
  /** the position at which this cluster took over, and its new epoch */
  takenOver?: { epoch: string; seq: number }
  /** the primary has ended its epoch, or may have, and this cluster has not taken over */
  outcome?: 'handed-over-not-claimed'
}

/** A promotion that succeeded: for a while its repetition gets the same answer. */
export interface Promoted {
  operation: string
  requestHmac: string
  warnings: readonly string[]
  /** epoch milliseconds */
  at: number
}

/** For so many milliseconds behind a promotion the others of the set are told all the time. */
const NEW_PROMOTION_MS = 10 * 60_000

/** Whether a promotion is so new. @param now epoch milliseconds */
export const isNewlyPromoted = (promoted: Pick<Promoted, 'at'> | undefined, now: number): boolean =>
  promoted !== undefined && now < promoted.at + NEW_PROMOTION_MS

/** A change of the cluster's role that is still to be told to the event bus. */
export interface RoleEvent {
  /** epoch milliseconds */
  at: number
  detail: RoleChange
}

/** What is told of a change of role; no secrets. */
export interface RoleChange {
  /** UUIDs of the cluster and of its DR set */
  cluster: string
  set: string
  from: string
  to: string
  /** of the cluster's own journal, after the change */
  epoch: string
  /** the last position before the change */
  position: string
  /** id of the role change, or of the request */
  operation: string
  /** positions that this cluster is known not to have taken over; null: nobody knows */
  lost: number | null
}

/**
 * How a secondary is told of another primary. `token`: it is admitted there anew; `clear`: it follows nobody;
 * `addresses`: it looks for its primary there, by the credentials that it has.
 */
export interface PrimaryUpdate {
  form: 'token' | 'clear' | 'addresses'
  /** where the primary is looked for, in this order */
  addresses: readonly string[]
  /** where it was found, and where it said that it is reached */
  foundAddresses?: readonly string[]
}

/** What a primary gave to this cluster, from the moment it did until the cluster record names it. */
export interface PendingLink {
  /** operation that it belongs to */
  operation: string
  /** UUID of the DR set */
  set: string
  /** name that the activation token was made for */
  secondaryId: string
  primaryAddr: string
  primaryAddrs: readonly string[]
  /** where other clusters of the set have been met, as the primary told */
  memberAddresses: readonly string[]
  primaryKey: string
  /** encrypted by the keyring below, for the cluster record */
  ownKey: Encrypted
  /** the set's keyring under this cluster's own KMS key */
  keyring: MadeKeyring
  /** what the primary says of this cluster's membership */
  statement: Statement
  /** what leads from others to the primary's own key */
  chain: readonly Statement[]
}
