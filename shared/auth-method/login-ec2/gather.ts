import type { MountCall } from '../../api/call.ts'
import type { InstanceDocument, VerifiedProof } from '../../identity-proof/instance-document.ts'
import type { IdentityConfig } from '../../model/config.ts'
import { maxTtlOf } from '../../model/mount.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { lowerAscii } from '../../values/names.ts'
import { awsTarget, nameOfQuestion } from '../config/accounts.ts'
import { defaultIdentity } from '../config/identity.ts'
import { noRole, type Passed } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { hintOf, remember } from '../login/hints.ts'
import type { SeenInstance } from '../login/instance.ts'
import { instanceSubject, seeInstance } from '../login/see-instance.ts'
import { isSignedWith, parseTag } from '../role-tags/tag.ts'
import { defaultTidy } from '../tidy/settings.ts'
import type { Ec2Facts, SeenEc2Facts, TagFacts } from './facts.ts'

type LoginCall = MountCall<typeof loginFields>

/** The items of an ec2 login that are known by name as soon as its document is read. */
export const ec2Keys = (accessor: string, roleName: string, document: InstanceDocument) =>
  [
    key('client-config', accessor),
    key('identity-config', accessor),
    key('role', accessor, roleName),
    key('sts-role', accessor, document.accountId),
    key('access', accessor, document.instanceId),
    key('tidy-settings', accessor, 'identity-accesslist'),
  ] as const

/** The role that is asked for, or the one named after the AMI. */
export const ec2RoleName = (given: string | undefined, { imageId }: InstanceDocument): string =>
  given || lowerAscii(imageId)

/** A guess at the alias's key, from earlier logins, so that it comes with the same read. */
export function guessEc2Alias(
  keyHints: Map<string, string>,
  accessor: string,
  roleName: string,
  document: InstanceDocument,
): Key<'alias'>[] {
  const kind = keyHints.get(hintOf.aliasKind(accessor, 'ec2')) as IdentityConfig['ec2Alias'] | undefined
  const roleId = keyHints.get(hintOf.roleId(accessor, roleName))
  const name = kind && aliasName(kind, roleId ?? '', document)
  return name ? [key('alias', accessor, name)] : []
}

const aliasName = (kind: IdentityConfig['ec2Alias'], roleId: string, document: InstanceDocument): string =>
  ({ role_id: roleId, instance_id: document.instanceId, image_id: document.imageId })[kind]

/** What the checks before the provider is asked look at; the stored items go along for the rest. */
export interface GatheredEc2<F extends Ec2Facts = Ec2Facts> {
  facts: F
  role: Item<'role'>
  alias: Item<'alias'> | undefined
  reach: Parameters<typeof awsTarget>[2]
}

/** Reads all that a login depends on. @throws ApiError when there is no such role */
export async function gatherEc2(
  call: LoginCall,
  document: VerifiedProof,
  freshNonce: string,
): Promise<GatheredEc2> {
  const mount = call.mount
  const roleName = ec2RoleName(call.given.role, document)
  const [client, config, role, sts, entry, tidy] = await call.fetched.read([
    ...ec2Keys(mount.accessor, roleName, document),
    ...guessEc2Alias(call.ports.keyHints, mount.accessor, roleName, document),
  ])
  if (!role) throw noRole(roleName)
  const identity = config?.data ?? defaultIdentity
  remember(call.ports, hintOf.aliasKind(mount.accessor, 'ec2'), identity.ec2Alias)
  remember(call.ports, hintOf.roleId(mount.accessor, roleName), role.data.roleId)
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
    ...defined({ entryNonce, sentNonce: call.given.nonce }),
    freshNonce,
    tidy: tidy?.data ?? defaultTidy,
    mountMax: maxTtlOf(mount),
    now: call.now,
  }
  return { facts, role, alias: aliasItem, reach: { client, sts } }
}

/** The look-up of a login: nothing of EC2's quota is spent on one that is refused anyway. */
export const askEc2: (call: LoginCall, gathered: GatheredEc2<Passed<Ec2Facts>>) => Promise<SeenInstance> =
  lookUp

/** Asks EC2, and IAM where the role needs it; kept when the login is judged again with the same settings. */
async function lookUp(call: LoginCall, { facts, role, reach }: GatheredEc2): Promise<SeenInstance> {
  const { accountId: account, region, instanceId, startedAt } = facts.document
  const question = nameOfQuestion({ account, region }, reach, instanceSubject(instanceId, role.data))
  return call.once(question, async () => {
    const target = await awsTarget(account, region, reach, call.ports.cipher)
    return seeInstance(call, target, instanceId, role.data, startedAt.seconds)
  })
}

/** The denial, if there is one, of the tag that the instance carries under the role's name for it. */
export const denialOf = (call: LoginCall, { role }: GatheredEc2, seen: SeenInstance): Key<'deny'>[] => {
  const value = tagOf(role, seen)
  return value ? [key('deny', call.mount.accessor, value)] : []
}

/** What EC2, IAM and the instance's role tag say; what the facts have passed so far stays with them. */
export async function seeEc2<F extends Ec2Facts>(
  call: LoginCall,
  gathered: GatheredEc2<F>,
): Promise<F & SeenEc2Facts> {
  const { facts, role } = gathered
  const seen = await lookUp(call, gathered)
  const tag = role.data.roleTag === '' ? {} : { tag: await seeTag(call, gathered, seen) }
  return { ...facts, ...seen, ...tag }
}

const tagOf = ({ data }: Item<'role'>, { instance }: SeenInstance): string | undefined => {
  const tags = instance?.tags ?? {}
  return data.roleTag !== '' && Object.hasOwn(tags, data.roleTag) ? tags[data.roleTag] : undefined
}

async function seeTag(call: LoginCall, gathered: GatheredEc2, seen: SeenInstance): Promise<TagFacts> {
  const { role } = gathered
  const value = tagOf(role, seen)
  const parsed = value ? parseTag(value) : undefined
  if (!value || !parsed) return defined({ value: value || undefined, genuine: false, denied: false })
  const tagKey = await call.ports.cipher.decrypt(role, 'hmacKey', role.data.hmacKey)
  const [denial] = await call.fetched.read(denialOf(call, gathered, seen))
  return { value, tag: parsed.tag, genuine: isSignedWith(parsed, tagKey), denied: denial !== undefined }
}
