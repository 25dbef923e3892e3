import type { ApiError } from '../../api/errors.ts'
import type { ClusterMode, ClusterRecord } from '../../model/cluster.ts'
import {
  addressesNeedLink,
  alreadyPrimary,
  notASecondary,
  primaryCannotJoin,
  publicKeyNotForPrimary,
  roleChanging,
} from './refusals.ts'

/** A call that changes the role of a cluster, or depends on it: the end of its path below sys/replication/dr. */
export type RoleCall =
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

/** What of a request matters besides the role. */
export interface TransitionRequest {
  /** `primary/enable`: an address that is not the present one */
  isNewAddress?: boolean
  /** `secondary/update-primary`: the primary is looked for at addresses, by the credentials that are there */
  byAddresses?: boolean
}

type Facts = TransitionRequest & { record: ClusterRecord }

interface Rule {
  /** the answer of a cluster by its role, after the gate; a role that is not named takes the call */
  refused?: Partial<Record<ClusterMode, (facts: Facts) => ApiError | undefined>>
  /** is taken during a role change too: it changes no role, and must not wait for one that does */
  whileChanging?: true
  /** begins an operation that may replace one that waits, which is judged when it begins */
  takesOver?: true
}

const rules: Readonly<Record<RoleCall, Rule>> = {
  'primary/enable': {
    refused: { primary: ({ isNewAddress }) => (isNewAddress ? undefined : alreadyPrimary()) },
  },
  'primary/demote': {},
  'primary/disable': {},
  'primary/secondary-token': {},
  'primary/revoke-secondary': { whileChanging: true },
  'secondary/enable': { refused: { primary: primaryCannotJoin } },
  'secondary/generate-public-key': { refused: { primary: publicKeyNotForPrimary } },
  // its row is for every role: an answer that is remembered comes before its refusal
  'secondary/promote': {
    takesOver: true,
    refused: { disabled: () => notASecondary('disabled'), primary: () => notASecondary('primary') },
  },
  'secondary/disable': { takesOver: true },
  'secondary/update-primary': {
    takesOver: true,
    refused: {
      secondary: ({ record, byAddresses }) =>
        byAddresses && !followsPrimary(record) ? addressesNeedLink() : undefined,
    },
  },
  'secondary/reindex': {},
  'secondary/merkle-check': { whileChanging: true },
  'secondary/operation-token/delete': { whileChanging: true },
}

/**
 * Whether a cluster takes a call, behind the gate and what a row of the endpoint table is for. What parameters are
 * worth, who calls, and whether a promotion is safe, is judged elsewhere.
 * @returns the refusal; undefined: it goes
 * @see docs/spec/replication.md#calls-and-roles
 */
export function transitionRefusal(
  call: RoleCall,
  record: ClusterRecord,
  change: TransitionRequest = {},
): ApiError | undefined {
  const { refused, whileChanging, takesOver } = rules[call]
  const refusal = refused?.[record.mode]?.({ ...change, record })
  if (refusal) return refusal
  return record.operation !== undefined && !whileChanging && !takesOver ? roleChanging() : undefined
}

/** @throws ApiError where the cluster does not take the call */
export function checkTransition(call: RoleCall, record: ClusterRecord, change?: TransitionRequest): void {
  const refusal = transitionRefusal(call, record, change)
  if (refusal) throw refusal
}

/** Whether a secondary follows a primary, as far as it knows. */
const followsPrimary = ({ link }: ClusterRecord): boolean => Boolean(link?.primaryKey)

/** Whether this cluster was a primary of its set until its epoch ended, and has followed nobody since. */
export const hasSteppedDown = (record: ClusterRecord): boolean =>
  record.mode === 'secondary' && record.epoch !== undefined && !followsPrimary(record)
