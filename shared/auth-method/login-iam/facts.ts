import type { VerifiedIdentity } from '../../identity-proof/caller-identity.ts'
import type { IdentityConfig } from '../../model/config.ts'
import type { CommonFacts } from '../login/common-checks.ts'
import type { InstanceLookUp } from '../login/instance.ts'

/** What is known of an iam login once STS has named the caller. */
export interface IamFacts extends CommonFacts {
  caller: VerifiedIdentity
  identity: IdentityConfig
  /** greatest lifetime of the mount, seconds */
  mountMax: number
}

/** The same with what IAM and EC2 say, where the role needs it. */
export interface CompleteIamFacts extends IamFacts {
  /** ARN of the caller's user or role with its path; looked up only for wildcards */
  fullArn: string | undefined
  /** there when the role infers an instance and the session names one */
  inferred: InferredInstance | undefined
}

export interface InferredInstance extends InstanceLookUp {
  instanceId: string
  region: string
  account: string
}
