import { createRefusal, type Refusal } from '../../api/errors.ts'
import type { AccessEntry } from '../../model/access-entry.ts'
import { defined } from '../../values/defined.ts'
import { formatDuration } from '../../values/duration.ts'
import type { OkResult, Result } from '../../values/result.ts'
import type { LoginCheck, WithPassedChecks } from '../login/checks.ts'
import { commonLoginChecks } from '../login/common-checks.ts'
import type { LoginGrant } from '../login/grant.ts'
import { documentChecks, instanceChecks } from '../login/instance.ts'
import { metadataNamesOf, selectLoginMetadata } from '../login/metadata.ts'
import { organizationChecks } from '../login/organization-checks.ts'
import { isTagWithinRole } from '../role-tags/tag.ts'
import type { CompleteEc2Facts, Ec2Facts, RoleTagFacts } from './facts.ts'
import { checkReauthentication, type Reauthentication } from './reauthentication.ts'

const reauthenticationOf = (facts: Ec2Facts, disallowed: boolean): Result<Reauthentication, Refusal> =>
  checkReauthentication(
    defined({
      entry: facts.entry ? defined({ stored: facts.entry.data, nonce: facts.entryNonce }) : undefined,
      sentNonce: facts.sentNonce,
      freshNonce: facts.freshNonce,
      startedAt: facts.document.startedAt,
      allowMigration: facts.role.allowInstanceMigration,
      disallow: disallowed,
    }),
  )

/**
 * The checks of an ec2 login before any call to AWS. A login that fails one of these checks uses none of EC2's
 * request quota.
 */
export const ec2ChecksBeforeLookUp: readonly LoginCheck<Ec2Facts>[] = [
  ...commonLoginChecks,
  ...documentChecks,
  ...organizationChecks,
  {
    name: 'reauthentication',
    seen: ({ entry }) =>
      entry ? { pending_time: entry.data.pendingTime, role: entry.data.role } : 'first login',
    wanted: facts => describeReturn(facts, facts.role.disallowReauthentication),
    refuse: facts => {
      const found = reauthenticationOf(facts, facts.role.disallowReauthentication)
      // The role tag is not read yet. If it disables reauthentication, the login stores no nonce, and a nonce of any
      // length is accepted.
      return found.ok || found.fault.why === 'nonce-length' ? undefined : found.fault
    },
  },
]

/** The checks of the results from EC2 and IAM, and of the role tag. */
export const ec2ChecksAfterLookUp: readonly LoginCheck<CompleteEc2Facts>[] = [
  ...instanceChecks,
  {
    name: 'role_tag',
    applies: ({ role }) => role.roleTag !== '',
    seen: ({ tag }) => tag?.value ?? null,
    wanted: ({ role, roleName }) => `the tag ${role.roleTag} with a role tag of ${roleName}`,
    refuse: facts => tagFault(facts),
  },
  {
    name: 'nonce',
    seen: ({ sentNonce }) =>
      sentNonce === undefined ? 'no nonce' : sentNonce === '' ? 'an empty nonce' : 'a nonce',
    wanted: facts => describeReturn(facts, isDisallowed(facts)),
    refuse: facts => {
      const found = reauthenticationOf(facts, isDisallowed(facts))
      return found.ok ? undefined : found.fault
    },
  },
]

/** Describes which logins of the instance the role admits, without the nonce. */
function describeReturn({ entry, role }: Ec2Facts, isDisallowed: boolean): string {
  if (!entry) return isDisallowed ? 'the first login of the instance' : 'any nonce of at most 128 characters'
  if (entry.data.disallowReauthentication) return 'no login after the first login'
  return role.allowInstanceMigration
    ? 'the nonce of the first login, or a later pendingTime'
    : 'the nonce of the first login'
}

const isDisallowed = ({ role, tag }: CompleteEc2Facts): boolean =>
  role.disallowReauthentication || (tag?.tag?.disallowReauthentication ?? false)

/** Checks the role tag. @see docs/spec/role-tags.md#at-login */
function tagFault({ tag, role, roleName, instanceId }: CompleteEc2Facts): Refusal | undefined {
  const fault =
    tagReason(tag, roleName, instanceId) ??
    (isTagWithinRole(tag?.tag?.policies ?? [], role.token) ? undefined : 'policies')
  return fault && createRefusal(`role-tag-${fault}`, `role tag check failed: ${tagTexts[fault]}`)
}

const tagTexts = {
  missing: 'the instance does not carry the role’s tag',
  format: 'the tag’s value is not a role tag',
  signature: 'the tag was not made for this role',
  role: 'the tag is for another role',
  instance: 'the tag is for another instance',
  denied: 'the tag is on the deny list',
  policies: 'the tag’s policies are not a subset of the role’s',
} as const

function tagReason(
  facts: RoleTagFacts | undefined,
  roleName: string,
  instanceId: string,
): keyof typeof tagTexts | undefined {
  if (!facts?.value) return 'missing'
  if (!facts.tag) return 'format'
  if (facts.tag.role !== roleName) return 'role'
  if (!facts.genuine) return 'signature'
  if (facts.tag.instanceId !== '' && facts.tag.instanceId !== instanceId) return 'instance'
  return facts.denied ? 'denied' : undefined
}

export interface Ec2Decision {
  grant: LoginGrant
  entry: Omit<AccessEntry, 'clientNonce'>
  /** nonce to store with the entry; empty: none */
  nonce: string
}

/**
 * Decides the result of a login that passed every check: its grant and its access-list entry.
 * @see docs/spec/login-ec2.md#token
 */
export function decideEc2Login(
  facts: WithPassedChecks<Ec2Facts> & WithPassedChecks<CompleteEc2Facts>,
  path: string,
): Ec2Decision {
  const { role, roleName, document, tag, mountMax } = facts
  const reauthentication = reauthenticationOf(facts, isDisallowed(facts)) as OkResult<Reauthentication>
  const { nonce, disallow, disclose } = reauthentication.value
  const tagMaxTtl = tag?.tag?.maxTtl ?? 0
  const limits = [role.token.maxTtl, tagMaxTtl].filter(limit => limit > 0)
  const known = knownOf(facts)
  const chosen = selectLoginMetadata(metadataNamesOf('ec2', facts.identity), known)
  const entry = entryOf(facts, disallow, Math.max(mountMax, ...limits))
  const grant: LoginGrant = {
    path,
    login: {
      authType: 'ec2',
      role: roleName,
      roleId: role.roleId,
      account: document.accountId,
      region: document.region,
      instanceId: document.instanceId,
      entryCreatedAt: entry.createdAt,
      tagMaxTtl,
    },
    displayName: '',
    metadata: { role: roleName, role_tag_max_ttl: formatDuration(tagMaxTtl), ...chosen },
    disclosed: disclose ? { nonce } : {},
    alias: { name: facts.aliasName, metadata: chosen },
    terms: {
      ...role.token,
      policies: tag?.tag?.policies.length ? tag.tag.policies : role.token.policies,
      maxTtl: Math.min(mountMax, ...limits),
    },
    endsWith: role.revokeOnTermination
      ? { account: document.accountId, id: document.instanceId, region: document.region }
      : undefined,
    source: facts.source,
  }
  return { grant, entry, nonce }
}

const knownOf = ({ document }: Ec2Facts): Record<string, string> => ({
  account_id: document.accountId,
  auth_type: 'ec2',
  ami_id: document.imageId,
  instance_id: document.instanceId,
  region: document.region,
})

/** Returns the new access-list entry of the instance. @see docs/spec/login-ec2.md#access-list */
function entryOf(
  { entry, roleName, document, now }: Ec2Facts,
  disallow: boolean,
  longest: number,
): Ec2Decision['entry'] {
  return {
    role: entry?.data.role ?? roleName,
    disallowReauthentication: disallow,
    pendingTime: document.pendingTime,
    createdAt: entry?.data.createdAt ?? now,
    updatedAt: now,
    expiresAt: now + longest * 1000,
  }
}
