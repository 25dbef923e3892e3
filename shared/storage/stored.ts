import type { AccessEntry } from '../model/access-entry.ts'
import type { Alias, EntityAliasPointer } from '../model/alias.ts'
import type { AttemptWatcher, CeremonySlot, OperationToken } from '../model/ceremony.ts'
import type { ClusterRecord, Keyring, RecoveryKey } from '../model/cluster.ts'
import type { AwsClientConfig, Certificate, IdentityConfig, StsRoleConfig } from '../model/config.ts'
import type { DenyEntry } from '../model/deny-entry.ts'
import type { DrillRecord } from '../model/drill.ts'
import type { RecentFault } from '../model/fault.ts'
import type { TermHolder } from '../model/holder.ts'
import type { InstanceRecord, InstanceRound } from '../model/instance.ts'
import type { AccountIssuer, JwtConfig, StoredIssuer } from '../model/jwt.ts'
import type {
  ActivationTokenKey,
  FenceRecord,
  PendingLinkKey,
  PrimaryContact,
  Secondary,
  SetMembership,
} from '../model/link.ts'
import type { MountTable } from '../model/mount.ts'
import type {
  OperationState,
  PendingPrimaryLink,
  PromotionRecord,
  RoleEvent,
  WaitingExecution,
} from '../model/operation.ts'
import type { OrganizationAccount, OrganizationConfig, OrganizationMap } from '../model/organization.ts'
import type { StoredPolicy } from '../model/policy.ts'
import type { ReencryptionProgress } from '../model/reencryption.ts'
import type { ReindexProgress } from '../model/reindex.ts'
import type { ResolvedPrincipals } from '../model/resolved-principals.ts'
import type { Role } from '../model/role.ts'
import type { RoleUse } from '../model/role-use.ts'
import type { RotationGuard } from '../model/rotation.ts'
import type {
  DifferenceReport,
  DivergingKeys,
  PrimaryNotice,
  PullerState,
  ReadinessTest,
  SyncRecovery,
  SyncSegment,
} from '../model/secondary.ts'
import type { KeyringTerm } from '../model/term.ts'
import type { TidyRun, TidySettings, TidyStamp } from '../model/tidy.ts'
import type { Token } from '../model/token.ts'
import type { TokenRole } from '../model/token-role.ts'
import type { TreeCheck, TreeReindex } from '../model/tree-work.ts'
import type { WrappedResponse } from '../model/wrapped.ts'

/** The type of each kind's data. */
export interface StoredDataByKind {
  mounts: MountTable
  'mounts-revision': Record<never, never>
  'client-config': AwsClientConfig
  'identity-config': IdentityConfig
  'tidy-settings': TidySettings
  'tidy-run': TidyRun
  'tidy-stamp': TidyStamp
  'resolved-principals': ResolvedPrincipals
  rotation: RotationGuard
  certificate: Certificate
  'sts-role': StsRoleConfig
  'jwt-config': JwtConfig
  issuer: StoredIssuer
  'account-issuer': AccountIssuer
  'organization-config': OrganizationConfig
  'organization-map': OrganizationMap
  'organization-account': OrganizationAccount
  spent: Record<never, never>
  instance: InstanceRecord
  role: Role
  'role-use': RoleUse
  access: AccessEntry
  deny: DenyEntry
  token: Token
  child: Record<never, never>
  'token-role': TokenRole
  wrapped: WrappedResponse
  policy: StoredPolicy
  alias: Alias
  entity: EntityAliasPointer
  'alias-id': EntityAliasPointer
  cluster: ClusterRecord
  keyring: Keyring
  'recovery-key': RecoveryKey
  term: KeyringTerm
  holder: TermHolder
  ceremony: CeremonySlot
  rekey: CeremonySlot
  'operation-token': OperationToken
  watcher: AttemptWatcher
  secondary: Secondary
  member: SetMembership
  fences: FenceRecord
  'token-key': ActivationTokenKey
  'pending-key': PendingLinkKey
  contact: PrimaryContact
  operation: OperationState
  waiting: WaitingExecution
  'pending-link': PendingPrimaryLink
  promoted: PromotionRecord
  drill: DrillRecord
  'role-event': RoleEvent
  segment: SyncSegment
  report: DifferenceReport
  puller: PullerState
  diverging: DivergingKeys
  recovery: SyncRecovery
  notice: PrimaryNotice
  readiness: ReadinessTest
  fault: RecentFault
  'instance-round': InstanceRound
  reindex: ReindexProgress
  reencryption: ReencryptionProgress
  'tree-check': TreeCheck
  'tree-reindex': TreeReindex
}
