import type { VerifiedIdentity } from '../../identity-proof/caller-identity.ts'
import type { IdentityConfig } from '../../model/config.ts'
import type { CommonLoginFacts } from '../login/common-checks.ts'
import type { InstanceLookUp } from '../login/instance.ts'

/** The facts of an iam login after STS has identified the caller. */
export interface IamFacts extends CommonLoginFacts {
  caller: VerifiedIdentity
  identity: IdentityConfig
}

/** The facts of an iam login after the calls to IAM and EC2, as far as the role needs them. */
export interface CompleteIamFacts extends IamFacts {
  /** ARN of the caller's user or role including its path; set only if the role binds a wildcard */
  fullArn: string | undefined
  /** set if the role infers an instance and the session is named after an instance */
  inferred: InferredInstance | undefined
}

export interface InferredInstance extends InstanceLookUp {
  instanceId: string
  region: string
  account: string
}
