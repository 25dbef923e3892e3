import type { ApiError } from '../../api/errors.ts'
import type { ClusterMode, ClusterRecord } from '../../model/cluster.ts'
import {
  addressesNeedLinkError,
  alreadyPrimaryError,
  noPublicKeyOfPrimaryError,
  notASecondaryError,
  primaryCannotJoinError,
  roleChangingError,
} from './refusals.ts'

/** A call that changes the role of a cluster or depends on it, by the end of its path below sys/replication/dr. */
export type RoleEndpoint =
  | 'primary/enable'
  | 'primary/demote'
  | 'primary/disable'
  | 'primary/secondary-token'
  | 'primary/revoke-secondary'
  | 'secondary/enable'
  | 'secondary/generate-public-key'
  | 'secondary/promote'
  | 'secondary/disable'
  | 'secondary/update-primary'
  | 'secondary/reindex'
  | 'secondary/merkle-check'
  | 'secondary/operation-token/delete'

/** The properties of a request that matter besides the role. */
export interface RoleTransitionRequest {
  /** `primary/enable`: the address differs from the current one */
  isNewAddress?: boolean
  /** `secondary/update-primary`: the cluster looks for the primary at addresses, with its existing credentials */
  byAddresses?: boolean
}

type Facts = RoleTransitionRequest & { record: ClusterRecord }

interface Rule {
  /** `refused`: rejections by role, after the gate; in other roles the call is allowed */
  refused?: Partial<Record<ClusterMode, (facts: Facts) => ApiError | undefined>>
  /**
   * `whileChanging`: the call is also allowed during a role change, because it changes no role and must not wait
   * for one
   */
  whileChanging?: true
  /** `takesOver`: the call begins an operation that may replace a waiting operation, which is checked when it begins */
  takesOver?: true
}

const rules: Readonly<Record<RoleEndpoint, Rule>> = {
  'primary/enable': {
    refused: { primary: ({ isNewAddress }) => (isNewAddress ? undefined : alreadyPrimaryError()) },
  },
  'primary/demote': {},
  'primary/disable': {},
  'primary/secondary-token': {},
  'primary/revoke-secondary': { whileChanging: true },
  'secondary/enable': { refused: { primary: primaryCannotJoinError } },
  'secondary/generate-public-key': { refused: { primary: noPublicKeyOfPrimaryError } },
  // every role reaches this row, because a completed promotion is answered before the call is rejected
  'secondary/promote': {
    takesOver: true,
    refused: { disabled: () => notASecondaryError('disabled'), primary: () => notASecondaryError('primary') },
  },
  'secondary/disable': { takesOver: true },
  'secondary/update-primary': {
    takesOver: true,
    refused: {
      secondary: ({ record, byAddresses }) =>
        byAddresses && !followsPrimary(record) ? addressesNeedLinkError() : undefined,
    },
  },
  'secondary/reindex': {},
  'secondary/merkle-check': { whileChanging: true },
  'secondary/operation-token/delete': { whileChanging: true },
}

/**
 * Returns the rejection of a call in the cluster's current role; undefined if the call is allowed. The handler runs
 * this check after the gate. Other code checks the parameters, the caller, and whether a promotion is safe.
 * @see docs/spec/replication.md#calls-and-roles
 */
export function findRoleTransitionRefusal(
  call: RoleEndpoint,
  record: ClusterRecord,
  change: RoleTransitionRequest = {},
): ApiError | undefined {
  const { refused, whileChanging, takesOver } = rules[call]
  const refusal = refused?.[record.mode]?.({ ...change, record })
  if (refusal) return refusal
  return record.operation !== undefined && !whileChanging && !takesOver ? roleChangingError() : undefined
}

/** @throws ApiError if the call is not allowed in the cluster's current role */
export function checkRoleTransition(
  call: RoleEndpoint,
  record: ClusterRecord,
  change?: RoleTransitionRequest,
): void {
  const refusal = findRoleTransitionRefusal(call, record, change)
  if (refusal) throw refusal
}

/** Reports whether a secondary has a primary. */
const followsPrimary = ({ link }: ClusterRecord): boolean => Boolean(link?.primaryKey)

/** Reports whether this cluster was the primary of its set until its epoch ended, and has had no primary since then. */
export const hasSteppedDown = (record: ClusterRecord): boolean =>
  record.mode === 'secondary' && record.epoch !== undefined && !followsPrimary(record)
