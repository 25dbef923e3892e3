import { defaultIdentityConfig } from '../../shared/auth-method/login/metadata.ts'
import type { CompleteIamFacts } from '../../shared/auth-method/login-iam/facts.ts'
import type { VerifiedIdentity } from '../../shared/identity-proof/caller-identity.ts'
import { canonicalArnOf, parseIamEntity } from '../../shared/values/arn.ts'
import { iamRole } from './roles.ts'

/** Returns the caller that STS reported. */
export function callerOf(arn: string, uniqueId = 'AROAEXAMPLE'): VerifiedIdentity {
  const entity = parseIamEntity(arn)
  if (!entity) throw new Error(`${arn} is no ARN of an entity`)
  const { account } = entity
  return {
    kind: 'principal',
    arn,
    account,
    canonicalArn: canonicalArnOf(entity),
    uniqueId,
    entity,
  } as VerifiedIdentity
}

/** Returns an instance that called with the credentials of its own role, as STS reported it. */
export function instanceCaller(uniqueId: string, account = '111122223333'): VerifiedIdentity {
  const arn = `arn:aws:sts::${account}:assumed-role/aws:ec2-instance/${uniqueId}`
  return { kind: 'instance', arn, account, canonicalArn: arn, uniqueId } as VerifiedIdentity
}

export const usualArn = 'arn:aws:sts::111122223333:assumed-role/app/i-0123456789abcdef0'

/** Returns the facts of a login by the usual role session after all look-ups. */
export const iamFacts = (parts: Partial<CompleteIamFacts> = {}): CompleteIamFacts => ({
  type: 'iam',
  roleName: 'dev',
  role: iamRole(),
  source: '192.0.2.1',
  aliasName: 'alias',
  caller: callerOf(usualArn),
  identity: defaultIdentityConfig,
  fullArn: undefined,
  inferred: undefined,
  ...parts,
})
