import type { VerifiedProof } from '../../identity-proof/instance-document.ts'
import type { IdentityConfig } from '../../model/config.ts'
import type { TidySettings } from '../../model/tidy.ts'
import type { Item } from '../../storage/kinds.ts'
import type { Secret } from '../../values/secret.ts'
import type { CommonLoginFacts } from '../login/common-checks.ts'
import type { InstanceLookUp } from '../login/instance.ts'
import type { RoleTag } from '../role-tags/tag.ts'

/** The facts of an ec2 login before the call to EC2. */
export interface Ec2Facts extends CommonLoginFacts {
  document: VerifiedProof
  /** `instanceId`, `account` and `region` repeat fields of `document` under the names that the instance checks use. */
  instanceId: string
  account: string
  region: string
  identity: IdentityConfig
  entry: Item<'access'> | undefined
  /** decrypted nonce of the entry */
  entryNonce?: Secret
  /** `sentNonce` is absent if the client sent no nonce */
  sentNonce?: string
  freshNonce: string
  tidy: TidySettings
  /** maximum TTL of the mount, seconds */
  mountMax: number
  /** epoch milliseconds */
  now: number
}

/** The facts of an ec2 login after the calls to EC2 and IAM, with the instance's role tag. */
export interface CompleteEc2Facts extends Ec2Facts, InstanceLookUp {
  /** `tag` is set if the role uses role tags */
  tag?: RoleTagFacts
}

export interface RoleTagFacts {
  /** value of the instance's tag; absent: the instance has no such tag */
  value?: string
  /** `tag` is absent if the value is not a role tag */
  tag?: RoleTag
  /** true if the role's key signed the tag */
  genuine: boolean
  denied: boolean
}
