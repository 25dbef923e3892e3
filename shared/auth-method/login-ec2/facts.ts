import type { VerifiedProof } from '../../identity-proof/instance-document.ts'
import type { IdentityConfig } from '../../model/config.ts'
import type { TidySettings } from '../../model/tidy.ts'
import type { Item } from '../../storage/kinds.ts'
import type { Secret } from '../../values/secret.ts'
import type { CommonFacts } from '../login/common-checks.ts'
import type { InstanceLookUp } from '../login/instance.ts'
import type { RoleTag } from '../role-tags/tag.ts'

/** What is known of an ec2 login before EC2 is asked. */
export interface Ec2Facts extends CommonFacts {
  document: VerifiedProof
  /** the fields of `document` under the names that rules on instances use */
  instanceId: string
  account: string
  region: string
  identity: IdentityConfig
  entry: Item<'access'> | undefined
  /** nonce of the entry, decrypted */
  entryNonce?: Secret
  /** absent: the client sent none */
  sentNonce?: string
  freshNonce: string
  tidy: TidySettings
  /** greatest lifetime of the mount, seconds */
  mountMax: number
  /** epoch milliseconds */
  now: number
}

/** The same with what EC2, IAM and the instance's role tag say. */
export interface CompleteEc2Facts extends Ec2Facts, InstanceLookUp {
  /** present when the role uses role tags */
  tag?: TagFacts
}

export interface TagFacts {
  /** value of the instance's tag; absent: the instance has no such tag */
  value?: string
  /** absent: the value is not a role tag */
  tag?: RoleTag
  /** signed with the role's key */
  genuine: boolean
  denied: boolean
}
