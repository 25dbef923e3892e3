import type { EncryptedText } from '../values/secret.ts'
import type { MadeKeyring } from './cluster.ts'
import type { MembershipStatement } from './link.ts'

/** The operations that take several steps. Each has a workflow of the same name. */
export type OperationName =
  | 'activation'
  | 'demotion'
  | 'promotion'
  | 'update-primary'
  | 'disable'
  | 'merkle-check'
  | 'reindex'

/**
 * A role change in several steps. This item is the authoritative state of its workflow. Times are epoch milliseconds.
 */
export interface OperationState {
  name: OperationName
  status: 'running' | 'done' | 'failed'
  /** the next step */
  step: string
  startedAt: number
  changedAt: number
  /** when the next step begins; absent: as soon as possible */
  waitsUntil?: number
  /** of an activation, and of a secondary that moves to another primary by token */
  activation?: ActivationInput
  reindex?: ReindexInput
  promotion?: PromotionState
  /** position of the operation in the journal, for callers that wait: `<epoch>/<number>` */
  position?: string
  /** of a secondary that moves to another primary, or to none */
  primaryUpdate?: PrimaryUpdate
  fault?: OperationFault
}

/** An execution that was started by hand. It waits for the request that authorises it. */
export interface WaitingExecution {
  /** epoch milliseconds at which it stops waiting */
  until: number
  /** the task token with which it is answered, encrypted as the field `token` */
  token: EncryptedText
  /** input of the operation; the request's own parameters take precedence */
  options: Readonly<Record<string, unknown>>
}

/** The reason why an operation was given up, as its caller receives it. */
export interface OperationFault {
  /** `passed_over`: the situation that it was begun for no longer exists, and the text says what to do instead */
  code: 'invalid_request' | 'busy' | 'activation_failed' | 'passed_over' | 'internal'
  /** status shows it to everyone */
  text: string
  /** the text of an unexpected error, only for the caller of the operation */
  detail?: string | undefined
  /** seconds after which the request may succeed when it is repeated; absent: the operation's default */
  retryAfter?: number
}

/** The options of a reindex. */
export interface ReindexInput {
  /** a secondary also compares its items with the primary's, and fetches those that differ */
  diff: boolean
  /** the hashes of all pages are computed again, not only of those that do not fit */
  force: boolean
  /** the journal worker computes the hashes of pages later */
  skipFlush: boolean
}

/** The parameters with which an administrator makes this cluster a secondary. */
export interface ActivationInput {
  /** encrypted as the field `token` of the operation; absent after it was used */
  token?: EncryptedText
  /** address of the primary, instead of the address in the token; empty: the one in the token */
  primaryApiAddr: string
  /** address of this cluster; absent: the one in the deployment's settings */
  address?: string
  /** PEM certificates that the primary's certificate is verified with; absent: the default ones */
  ca?: string
}

/** A promotion: its parameters and its progress. */
export interface PromotionState {
  force: boolean
  /** new address for secondaries; absent: unchanged */
  address?: string
  /** HMAC of the operation token and the flags; identifies a repeated request */
  requestHmac: string
  /** warnings for its caller, in addition to the success */
  warnings: readonly string[]
  /** whether the primary is asked to hand over; absent: not decided yet */
  requestsHandover?: boolean
  /** epoch milliseconds of the first request to hand over; from then on the primary may have ended its epoch */
  handoverRequestedAt?: number
  /** the end of the primary's journal as it acknowledged it: position and closed epoch */
  end?: { epoch: string; seq: number; closedEpoch: string }
  /** the position at which this cluster took over, and its new epoch */
  takenOver?: { epoch: string; seq: number }
  /** the primary has ended its epoch, or may have, and this cluster has not taken over */
  outcome?: 'handed-over-not-claimed'
}

/** A promotion that succeeded. For a while a repeated request gets the same answer. */
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

/** The content of a role event. It contains no secrets. */
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
  /** number of positions that this cluster is known not to have taken over; null: unknown */
  lost: number | null
}

/**
 * The way in which a secondary gets another primary. `token`: it is admitted there again. `clear`: it follows no
 * primary. `addresses`: it looks for its primary there, with its present keys.
 */
export interface PrimaryUpdate {
  form: 'token' | 'clear' | 'addresses'
  /** addresses at which the primary is searched, in this order */
  addresses: readonly string[]
  /** the address at which it was found, and the addresses that it reported */
  foundAddresses?: readonly string[]
}

/** What a primary gave to this cluster, until the cluster record has it. */
export interface PendingPrimaryLink {
  /** operation that it belongs to */
  operation: string
  /** UUID of the DR set */
  set: string
  /** name that the activation token was made for */
  secondaryId: string
  primaryAddr: string
  primaryAddrs: readonly string[]
  /** addresses of other clusters of the set, from the primary's answer */
  memberAddresses: readonly string[]
  primaryKey: string
  /** encrypted with the keyring below, for the cluster record */
  ownKey: EncryptedText
  /** the set's keyring under this cluster's own KMS key */
  keyring: MadeKeyring
  /** the primary's statement about this cluster's membership */
  statement: MembershipStatement
  /** statements that lead from other clusters to the primary's own key */
  chain: readonly MembershipStatement[]
}
