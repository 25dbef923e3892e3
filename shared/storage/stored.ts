import type { AccessEntry } from '../model/access-entry.ts'
import type { Alias, Pointer } from '../model/alias.ts'
import type { OperationToken, Slot, Watcher } from '../model/ceremony.ts'
import type { ClusterRecord, Keyring, RecoveryKey } from '../model/cluster.ts'
import type { Certificate, ClientConfig, IdentityConfig, StsRole } from '../model/config.ts'
import type { DenyEntry } from '../model/deny-entry.ts'
import type { Drill } from '../model/drill.ts'
import type { RecentFault } from '../model/fault.ts'
import type { Holder } from '../model/holder.ts'
import type { Fences, Member, PendingKey, PrimaryContact, Secondary, TokenKey } from '../model/link.ts'
import type { MountTable } from '../model/mount.ts'
import type {
  OperationState,
  PendingLink,
  Promoted,
  RoleEvent,
  WaitingExecution,
} from '../model/operation.ts'
import type { StoredPolicy } from '../model/policy.ts'
import type { Reencryption } from '../model/reencryption.ts'
import type { Reindex } from '../model/reindex.ts'
import type { ResolvedPrincipals } from '../model/resolved-principals.ts'
import type { Role } from '../model/role.ts'
import type { Rotation } from '../model/rotation.ts'
import type {
  Diverging,
  Notice,
  Puller,
  ReadinessTried,
  Recovery,
  Report,
  SyncSegment,
} from '../model/secondary.ts'
import type { Term } from '../model/term.ts'
import type { TidyRun, TidySettings, TidyStamp } from '../model/tidy.ts'
import type { Token } from '../model/token.ts'
import type { TokenRole } from '../model/token-role.ts'
import type { TreeCheck, TreeReindex } from '../model/tree-work.ts'
import type { Wrapped } from '../model/wrapped.ts'

/** The type of each kind's data. */
export interface Stored {
  mounts: MountTable
  'mounts-revision': Record<never, never>
  'client-config': ClientConfig
  'identity-config': IdentityConfig
  'tidy-settings': TidySettings
  'tidy-run': TidyRun
  'tidy-stamp': TidyStamp
  'resolved-principals': ResolvedPrincipals
  rotation: Rotation
  certificate: Certificate
  'sts-role': StsRole
  role: Role
  access: AccessEntry
  deny: DenyEntry
  token: Token
  child: Record<never, never>
  'token-role': TokenRole
  wrapped: Wrapped
  policy: StoredPolicy
  alias: Alias
  entity: Pointer
  'alias-id': Pointer
  cluster: ClusterRecord
  keyring: Keyring
  'recovery-key': RecoveryKey
  term: Term
  holder: Holder
  ceremony: Slot
  rekey: Slot
  'operation-token': OperationToken
  watcher: Watcher
  secondary: Secondary
  member: Member
  fences: Fences
  'token-key': TokenKey
  'pending-key': PendingKey
  contact: PrimaryContact
  operation: OperationState
  waiting: WaitingExecution
  'pending-link': PendingLink
  promoted: Promoted
  drill: Drill
  'role-event': RoleEvent
  segment: SyncSegment
  report: Report
  puller: Puller
  diverging: Diverging
  recovery: Recovery
  notice: Notice
  readiness: ReadinessTried
  fault: RecentFault
  reindex: Reindex
  reencryption: Reencryption
  'tree-check': TreeCheck
  'tree-reindex': TreeReindex
}
