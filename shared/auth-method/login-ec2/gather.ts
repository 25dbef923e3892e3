import type { AskAws, MountCall } from '../../api/call.ts'
import type { InstanceDocument, VerifiedProof } from '../../identity-proof/instance-document.ts'
import type { IdentityConfig } from '../../model/config.ts'
import { maxTtlOfMount } from '../../model/mount.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { lowerAscii } from '../../values/names.ts'
import type { AwsAccountItems } from '../config/accounts.ts'
import { unknownRoleError } from '../login/checks.ts'
import { createInstanceQuestion } from '../login/describe-instance.ts'
import type { loginFields } from '../login/fields.ts'
import { keyHintName, rememberKeyHint } from '../login/hints.ts'
import type { InstanceLookUp } from '../login/instance.ts'
import { defaultIdentityConfig } from '../login/metadata.ts'
import { lookUpOrganization } from '../login/organization-checks.ts'
import { isTagSignedWith, parseRoleTag } from '../role-tags/tag.ts'
import { defaultTidySettings } from '../tidy/settings.ts'
import type { CompleteEc2Facts, Ec2Facts, RoleTagFacts } from './facts.ts'

type LoginCall = MountCall<typeof loginFields>

/** Returns the keys of the items that an ec2 login reads and that the login's document determines. */
export const ec2LoginKeys = (accessor: string, roleName: string, document: InstanceDocument) =>
  [
    key('client-config', accessor),
    key('identity-config', accessor),
    key('role', accessor, roleName),
    key('sts-role', accessor, document.accountId),
    key('access', accessor, document.instanceId),
    key('tidy-settings', accessor, 'identity-accesslist'),
  ] as const

/** Returns the requested role, or the role named after the AMI. */
export const ec2LoginRoleName = (given: string | undefined, { imageId }: InstanceDocument): string =>
  given || lowerAscii(imageId)

/** Guesses the alias's key from earlier logins, so that the first batch read can include the alias. */
export function guessEc2Alias(
  keyHints: Map<string, string>,
  accessor: string,
  roleName: string,
  document: InstanceDocument,
): Key<'alias'>[] {
  const kind = keyHints.get(keyHintName.aliasKind(accessor, 'ec2')) as IdentityConfig['ec2Alias'] | undefined
  const roleId = keyHints.get(keyHintName.roleId(accessor, roleName))
  const name = kind && aliasName(kind, roleId ?? '', document)
  return name ? [key('alias', accessor, name)] : []
}

const aliasName = (kind: IdentityConfig['ec2Alias'], roleId: string, document: InstanceDocument): string =>
  ({ role_id: roleId, instance_id: document.instanceId, image_id: document.imageId })[kind]

/** The facts for the checks before the call to EC2, with stored items that later steps need. */
export interface GatheredEc2Facts<F extends Ec2Facts = Ec2Facts> {
  facts: F
  role: Item<'role'>
  alias: Item<'alias'> | undefined
  reach: AwsAccountItems
}

/** Reads everything that a login depends on. @throws ApiError if the role does not exist */
export async function gatherEc2Facts(
  call: LoginCall,
  document: VerifiedProof,
  freshNonce: string,
): Promise<GatheredEc2Facts> {
  const mount = call.mount
  const roleName = ec2LoginRoleName(call.parameters.role, document)
  const [client, config, role, sts, entry, tidy] = await call.fetched.read([
    ...ec2LoginKeys(mount.accessor, roleName, document),
    ...guessEc2Alias(call.ports.keyHints, mount.accessor, roleName, document),
  ])
  if (!role) throw unknownRoleError(roleName)
  const identity = config?.data ?? defaultIdentityConfig
  rememberKeyHint(call.ports, keyHintName.aliasKind(mount.accessor, 'ec2'), identity.ec2Alias)
  rememberKeyHint(call.ports, keyHintName.roleId(mount.accessor, roleName), role.data.roleId)
  const alias = aliasName(identity.ec2Alias, role.data.roleId, document)
  const [aliasItem] =
    alias === '' ? [undefined] : await call.fetched.read([key('alias', mount.accessor, alias)])
  const encryptedNonce = entry?.data.clientNonce
  const entryNonce =
    entry && encryptedNonce
      ? await call.ports.cipher.decrypt(entry, 'clientNonce', encryptedNonce)
      : undefined
  const facts: Ec2Facts = {
    type: 'ec2',
    roleName,
    role: role.data,
    source: call.request.source,
    aliasName: alias,
    document,
    instanceId: document.instanceId,
    account: document.accountId,
    region: document.region,
    identity,
    entry,
    ...defined({ entryNonce, sentNonce: call.parameters.nonce }),
    freshNonce,
    tidy: tidy?.data ?? defaultTidySettings,
    mountMax: maxTtlOfMount(mount),
    now: call.now,
    ...(await lookUpOrganization(call, call.fetched.read, 'ec2', role.data, document.accountId)),
  }
  return { facts, role, alias: aliasItem, reach: { client, sts } }
}

/** Describes the instance with EC2, and its role with IAM. The result tells which deny-list entry to read for the role tag. */
export function lookUpInstance(
  call: LoginCall,
  { facts, role, reach }: GatheredEc2Facts,
  ask: AskAws,
): Promise<InstanceLookUp> {
  const { account, region, instanceId: id, document } = facts
  const asked = { id, role: role.data, startedAt: document.startedAt.seconds }
  return ask({
    ...createInstanceQuestion(call, { account, region, client: reach.client, sts: reach.sts }, asked),
    leadsTo: seen => denyListKeys(call, role, seen),
  })
}

const denyListKeys = (call: LoginCall, role: Item<'role'>, seen: InstanceLookUp): Key<'deny'>[] => {
  const value = tagOf(role, seen)
  return value ? [key('deny', call.mount.accessor, value)] : []
}

/** Adds the results from EC2 and IAM and the role tag to the facts, and keeps the marks of the passed checks. */
export async function addInstanceFacts<F extends Ec2Facts>(
  call: LoginCall,
  { facts, role }: GatheredEc2Facts<F>,
  seen: InstanceLookUp,
): Promise<F & CompleteEc2Facts> {
  const tag = role.data.roleTag === '' ? {} : { tag: await readTag(call, role, seen) }
  return { ...facts, ...seen, ...tag }
}

const tagOf = ({ data }: Item<'role'>, { instance }: InstanceLookUp): string | undefined => {
  const tags = instance?.tags ?? {}
  return data.roleTag !== '' && Object.hasOwn(tags, data.roleTag) ? tags[data.roleTag] : undefined
}

async function readTag(call: LoginCall, role: Item<'role'>, seen: InstanceLookUp): Promise<RoleTagFacts> {
  const value = tagOf(role, seen)
  const parsed = value ? parseRoleTag(value) : undefined
  if (!value || !parsed) return defined({ value: value || undefined, genuine: false, denied: false })
  const tagKey = await call.ports.cipher.decrypt(role, 'hmacKey', role.data.hmacKey)
  const [denial] = await call.fetched.read(denyListKeys(call, role, seen))
  return { value, tag: parsed.tag, genuine: isTagSignedWith(parsed, tagKey), denied: denial !== undefined }
}
