import { createRefusal } from '../../api/errors.ts'
import type { CallerArnIdentity } from '../../identity-proof/caller-identity.ts'
import { admittedCallerKind, checksInstances, wildcardArnsOf } from '../../model/role.ts'
import { defined } from '../../values/defined.ts'
import type { LoginCheck, WithPassedChecks } from '../login/checks.ts'
import { commonLoginChecks } from '../login/common-checks.ts'
import type { LoginGrant } from '../login/grant.ts'
import { type InstanceCheckFacts, instanceChecks } from '../login/instance.ts'
import { metadataNamesOf, selectLoginMetadata } from '../login/metadata.ts'
import { organizationChecks } from '../login/organization-checks.ts'
import type { CompleteIamFacts, IamFacts } from './facts.ts'
import { inferredInstanceId, roleAdmitsPrincipal } from './principal.ts'

const admitted = (facts: IamFacts & Partial<CompleteIamFacts>) =>
  roleAdmitsPrincipal(
    facts.role,
    defined({
      uniqueId: facts.caller.uniqueId,
      canonicalArn: facts.caller.canonicalArn,
      fullArn: facts.fullArn,
    }),
  )

const notBound = ({ roleName }: IamFacts) =>
  createRefusal('principal-not-bound', `principal is not bound to role "${roleName}"`)

/** The checks before any call to IAM or EC2. */
export const iamChecksBeforeLookUp: readonly LoginCheck<IamFacts>[] = [
  ...commonLoginChecks,
  {
    name: 'allow_instance_identity_role',
    applies: ({ role, caller }) => role.allowInstanceIdentityRole === true || caller.kind === 'instance',
    seen: ({ caller }) => caller.kind,
    wanted: ({ role }) => admittedCallerKind(role),
    refuse: ({ role, caller }) =>
      caller.kind === admittedCallerKind(role)
        ? undefined
        : createRefusal('instance-identity-role', 'the role does not admit this kind of caller'),
  },
  {
    name: 'bound_iam_principal_arn',
    applies: ({ role }) => role.boundIamPrincipalArns.length > 0,
    seen: ({ caller }) => ({ arn: caller.canonicalArn, unique_id: caller.uniqueId }),
    // a principal that was deleted and created again has the bound ARN, and another unique ID
    wanted: ({ role }) => ({ arn: role.boundIamPrincipalArns, unique_id: role.boundIamPrincipalIds }),
    refuse: facts => (admitted(facts) === 'no' ? notBound(facts) : undefined),
  },
  {
    name: 'inferred_entity_type',
    applies: ({ role }) => role.inferredEntityType !== '',
    seen: ({ caller }) => (caller.kind === 'instance' ? caller.uniqueId : caller.entity.session) ?? null,
    wanted: () => 'an instance ID as the name of the session',
    refuse: ({ caller }) =>
      inferredInstanceId(caller) === undefined
        ? createRefusal(
            'session-not-instance',
            'the name of the caller’s session is not an instance ID: no instance can be inferred',
          )
        : undefined,
  },
  ...organizationChecks,
]

const wildcard: LoginCheck<CompleteIamFacts> = {
  name: 'bound_iam_principal_arn wildcard',
  applies: facts => facts.fullArn !== undefined || admitted(facts) === 'look-up',
  seen: ({ fullArn }) => fullArn ?? null,
  wanted: ({ role }) => wildcardArnsOf(role),
  refuse: facts => (admitted(facts) === 'yes' ? undefined : notBound(facts)),
}

/** Applies an instance check to the inferred instance. */
const ofInferred = (check: LoginCheck<InstanceCheckFacts>): LoginCheck<CompleteIamFacts> => ({
  name: check.name,
  applies: facts => checksInstances(facts.role) && (check.applies?.(inferredFacts(facts)) ?? true),
  seen: facts => check.seen?.(inferredFacts(facts)) ?? null,
  wanted: facts => check.wanted?.(inferredFacts(facts)) ?? null,
  refuse: facts => check.refuse(inferredFacts(facts)),
})

const inferredFacts = ({ roleName, role, inferred }: CompleteIamFacts): InstanceCheckFacts => ({
  roleName,
  role,
  instanceId: '',
  account: '',
  region: '',
  instance: undefined,
  ...inferred,
})

/** The checks of the results from IAM and EC2. @see docs/spec/login-iam.md#principals */
export const iamChecksAfterLookUp: readonly LoginCheck<CompleteIamFacts>[] = [
  wildcard,
  ...instanceChecks.map(ofInferred),
]

/** Builds the grant of a login that passed every check. @see docs/spec/login-iam.md#token */
export function decideIamLogin(
  facts: WithPassedChecks<IamFacts> & WithPassedChecks<CompleteIamFacts>,
  path: string,
): LoginGrant {
  const { role, roleName, caller, inferred } = facts
  const chosen = selectLoginMetadata(metadataNamesOf('iam', facts.identity), knownOf(facts))
  return {
    path,
    login: {
      authType: 'iam',
      role: roleName,
      roleId: role.roleId,
      ...(caller.kind === 'instance' ? { caller: caller.kind } : {}),
      account: caller.account,
      canonicalArn: caller.canonicalArn,
      clientUserId: caller.uniqueId,
      ...(inferred ? { instanceId: inferred.instanceId, region: inferred.region } : {}),
    },
    displayName: displayNameOf(caller),
    metadata: { role_id: role.roleId, ...chosen },
    disclosed: {},
    alias: { name: facts.aliasName, metadata: chosen },
    terms: role.token,
    endsWith: role.revokeOnTermination ? instanceOf(facts) : undefined,
    source: facts.source,
  }
}

const displayNameOf = (caller: CallerArnIdentity): string =>
  caller.kind === 'instance'
    ? `ec2-instance/${caller.uniqueId}`
    : [caller.entity.name, caller.entity.session].filter(Boolean).join('/')

const instanceOf = ({ inferred }: CompleteIamFacts): LoginGrant['endsWith'] =>
  inferred ? { account: inferred.account, id: inferred.instanceId, region: inferred.region } : 'unknown'

const knownOf = ({ caller, inferred, role }: CompleteIamFacts): Record<string, string> => ({
  account_id: caller.account,
  auth_type: 'iam',
  canonical_arn: caller.canonicalArn,
  client_arn: caller.arn,
  client_user_id: caller.uniqueId,
  inferred_aws_region: inferred ? role.inferredAwsRegion : '',
  inferred_entity_id: inferred?.instanceId ?? '',
  inferred_entity_type: inferred ? role.inferredEntityType : '',
})
