import type { EncryptedText } from '../values/secret.ts'
import type { MadeKeyring } from './cluster.ts'
import type { MembershipStatement } from './link.ts'

/** The operations that take several steps. Each operation has a workflow of the same name. */
export type OperationName =
  | 'activation'
  | 'demotion'
  | 'promotion'
  | 'update-primary'
  | 'disable'
  | 'merkle-check'
  | 'reindex'

/**
 * A role change in several steps. The operation's item is the authoritative state of its workflow. Times of an
 * operation are epoch milliseconds.
 */
export interface OperationState {
  name: OperationName
  status: 'running' | 'done' | 'failed'
  /** `step`: the operation's next step */
  step: string
  startedAt: number
  changedAt: number
  /** `waitsUntil`: when the next step begins; absent: as soon as possible */
  waitsUntil?: number
  /** `activation` of an activation, and of a secondary that moves to another primary by token */
  activation?: ActivationInput
  reindex?: ReindexInput
  promotion?: PromotionState
  /** position of the operation in the journal, for callers that wait: `<epoch>/<number>` */
  position?: string
  /** `primaryUpdate` of a secondary that moves to another primary, or to no primary */
  primaryUpdate?: PrimaryUpdate
  fault?: OperationFault
}

/** An execution that an operator started by hand. The execution waits for the request that authorises it. */
export interface WaitingExecution {
  /** `until`: epoch milliseconds at which the execution stops waiting */
  until: number
  /** `token`: the task token with which the execution is answered, encrypted as the field `token` */
  token: EncryptedText
  /** input of the operation; the request's own parameters take precedence */
  options: Readonly<Record<string, unknown>>
}

/** The reason why an operation failed, as its caller receives it. */
export interface OperationFault {
  /**
   * `passed_over`: the situation for which the operation began no longer exists, and the text says what to do
   * instead
   */
  code: 'invalid_request' | 'busy' | 'activation_failed' | 'passed_over' | 'internal'
  /** `text`: status shows it to everyone */
  text: string
  /** the text of an unexpected error, only for the caller of the operation */
  detail?: string | undefined
  /** `retryAfter`: seconds after which the request may succeed when it is repeated; absent: the operation's default */
  retryAfter?: number
}

/** The options of a reindex. */
export interface ReindexInput {
  /** `diff`: a secondary also compares its items with the primary's, and fetches the items that differ */
  diff: boolean
  /** `force`: the reindex computes the hashes of all pages again, not only of wrong ones */
  force: boolean
  /** `skipFlush`: the journal worker computes the hashes of pages later */
  skipFlush: boolean
}

/** The parameters with which an administrator makes this cluster a secondary. */
export interface ActivationInput {
  /** `token`, encrypted as the field `token` of the operation; absent after it was used */
  token?: EncryptedText
  /** `primaryApiAddr`: address of the primary, instead of the address in the token; empty: the token's address */
  primaryApiAddr: string
  /** `address` of this cluster; absent: the address in the deployment's settings */
  address?: string
  /** PEM certificates for verifying the primary's certificate; absent: the default certificates */
  ca?: string
}

/** A promotion: its parameters and its progress. */
export interface PromotionState {
  force: boolean
  /** `address`: new address for secondaries; absent: unchanged */
  address?: string
  /** HMAC of the operation token and the flags; identifies a repeated request */
  requestHmac: string
  /** `warnings` for the operation's caller, in addition to the success */
  warnings: readonly string[]
  /** `requestsHandover`: whether the promotion requests a handover from the primary; absent: not decided yet */
  requestsHandover?: boolean
  /**
   * `handoverRequestedAt`: epoch milliseconds of the first request to hand over; after it the primary may have
   * ended its epoch
   */
  handoverRequestedAt?: number
  /** `end`: the end of the primary's journal as the primary acknowledged it: position and closed epoch */
  end?: { epoch: string; seq: number; closedEpoch: string }
  /** the position at which this cluster took over, and its new epoch */
  takenOver?: { epoch: string; seq: number }
  /** `outcome`: the primary has ended its epoch, or may have, and this cluster has not taken over */
  outcome?: 'handed-over-not-claimed'
}

/** A promotion that succeeded. For a while a repeated promotion request gets the same answer. */
export interface PromotionRecord {
  operation: string
  requestHmac: string
  warnings: readonly string[]
  /** epoch milliseconds */
  at: number
}

/** Milliseconds after a promotion during which the other members are fenced continuously. */
const NEW_PROMOTION_MS = 10 * 60_000

/**
 * Reports whether a promotion is newer than ten minutes.
 * @param now epoch milliseconds
 */
export const wasPromotedRecently = (
  promoted: Pick<PromotionRecord, 'at'> | undefined,
  now: number,
): boolean => promoted !== undefined && now < promoted.at + NEW_PROMOTION_MS

/** A role change that was not sent to the event bus yet. */
export interface RoleEvent {
  /** epoch milliseconds */
  at: number
  detail: RoleChange
}

/** The content of a role event. The content of a role event contains no secrets. */
export interface RoleChange {
  /** UUIDs of the cluster and of its DR set */
  cluster: string
  set: string
  from: string
  to: string
  /** `epoch` of the cluster's own journal, after the change */
  epoch: string
  /** `position`: the last position before the change */
  position: string
  /** id of the role change, or of the request */
  operation: string
  /** `lost`: number of positions that this cluster is known not to have taken over; null: unknown */
  lost: number | null
}

/**
 * The way in which a secondary gets another primary. `token`: another primary admits the secondary again. `clear`:
 * the secondary follows no primary. `addresses`: the secondary looks for its primary at these addresses, with its
 * present keys.
 */
export interface PrimaryUpdate {
  form: 'token' | 'clear' | 'addresses'
  /** `addresses` at which the secondary looks for the primary, in this order */
  addresses: readonly string[]
  /** `foundAddresses`: the address at which the primary was found, and the addresses that it reported */
  foundAddresses?: readonly string[]
}

/** The keys and addresses that a primary gave to this cluster, until the cluster record has them. */
export interface PendingPrimaryLink {
  /** `operation` to which the pending link belongs */
  operation: string
  /** UUID of the DR set */
  set: string
  /** `secondaryId`: name for which the activation token was made */
  secondaryId: string
  primaryAddr: string
  primaryAddrs: readonly string[]
  /** addresses of other clusters of the set, from the primary's answer */
  memberAddresses: readonly string[]
  primaryKey: string
  /** `ownKey`, encrypted with the keyring below, for the cluster record */
  ownKey: EncryptedText
  /** the set's keyring under this cluster's own KMS key */
  keyring: MadeKeyring
  /** the primary's statement about this cluster's membership */
  statement: MembershipStatement
  /** statements that lead from other clusters to the primary's own key */
  chain: readonly MembershipStatement[]
}
