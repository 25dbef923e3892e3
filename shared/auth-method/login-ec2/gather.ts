import type { Call } from '../../api/call.ts'
import { mountOf } from '../../api/call.ts'
import { invalid } from '../../api/errors.ts'
import { maxTtlOf } from '../../mounts/mount.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { lowerAscii } from '../../values/names.ts'
import { accessTo } from '../accounts.ts'
import { defaultIdentity } from '../config/identity.ts'
import type { IdentityConfig } from '../config/stored.ts'
import { fetchItems, recallOf, remember } from '../login/fetch.ts'
import type { loginFields } from '../login/fields.ts'
import { seeInstance } from '../login/instance.ts'
import { isSignedWith, parseTag } from '../role-tags/tag.ts'
import { defaultTidy } from '../tidy/settings.ts'
import type { Ec2Facts, SeenEc2Facts, TagFacts } from './facts.ts'
import type { Ec2Proof } from './proof.ts'

type LoginCall = Call<typeof loginFields>

/** The items of an ec2 login that are known by name as soon as its document is read. */
export const ec2Keys = (accessor: string, roleName: string, { document }: Ec2Proof) =>
  [
    key('client-config', accessor),
    key('identity-config', accessor),
    key('role', accessor, roleName),
    key('sts-role', accessor, document.accountId),
    key('access', accessor, document.instanceId),
    key('tidy-settings', accessor, 'identity-accesslist'),
  ] as const

/** The role that is asked for, or the one named after the AMI. */
export const ec2RoleName = (given: string | undefined, { document }: Ec2Proof): string =>
  given || lowerAscii(document.imageId)

/** A guess at the alias's key, from earlier logins, so that it comes with the same read. */
export function guessEc2Alias(
  recall: Map<string, string>,
  accessor: string,
  roleName: string,
  proof: Ec2Proof,
): Key<'alias'>[] {
  const kind = recall.get(recallOf.aliasKind(accessor, 'ec2')) as IdentityConfig['ec2Alias'] | undefined
  const roleId = recall.get(recallOf.roleId(accessor, roleName))
  const name = kind && aliasName(kind, roleId ?? '', proof)
  return name ? [key('alias', accessor, name)] : []
}

const aliasName = (kind: IdentityConfig['ec2Alias'], roleId: string, { document }: Ec2Proof): string =>
  ({ role_id: roleId, instance_id: document.instanceId, image_id: document.imageId })[kind]

/** What the checks before the provider is asked look at; the stored items go along for the rest. */
export interface GatheredEc2 {
  facts: Ec2Facts
  role: Item<'role'>
  alias: Item<'alias'> | undefined
  reach: Parameters<typeof accessTo>[2]
}

/** Reads all that a login depends on. @throws ApiError when there is no such role */
export async function gatherEc2(call: LoginCall, proof: Ec2Proof, freshNonce: string): Promise<GatheredEc2> {
  const mount = mountOf(call)
  const roleName = ec2RoleName(call.given.role, proof)
  const [client, config, role, sts, entry, tidy] = await fetchItems(
    call,
    ec2Keys(mount.accessor, roleName, proof),
  )
  if (!role) throw invalid(`no role named "${roleName}"`, { reason: { why: 'no-role', role: roleName } })
  const identity = config?.data ?? defaultIdentity
  remember(call.ports, recallOf.aliasKind(mount.accessor, 'ec2'), identity.ec2Alias)
  remember(call.ports, recallOf.roleId(mount.accessor, roleName), role.data.roleId)
  const alias = aliasName(identity.ec2Alias, role.data.roleId, proof)
  const [aliasItem] =
    alias === '' ? [undefined] : await fetchItems(call, [key('alias', mount.accessor, alias)])
  const sealedNonce = entry?.data.clientNonce
  const entryNonce =
    entry && sealedNonce ? await call.ports.sealer.open(entry, 'clientNonce', sealedNonce) : undefined
  const facts: Ec2Facts = {
    type: 'ec2',
    roleName,
    role: role.data,
    source: call.request.source,
    aliasName: alias,
    document: proof.document,
    instanceId: proof.document.instanceId,
    account: proof.document.accountId,
    region: proof.document.region,
    identity,
    entry,
    ...(entryNonce ? { entryNonce } : {}),
    ...(call.given.nonce === undefined ? {} : { sentNonce: call.given.nonce }),
    freshNonce,
    tidy: tidy?.data ?? defaultTidy,
    mountMax: maxTtlOf(mount),
    now: call.now,
  }
  return { facts, role, alias: aliasItem, reach: { client, sts } }
}

/** Asks EC2, and IAM where the role needs it; kept when the login is judged again after a lost race. */
export async function seeEc2(call: LoginCall, { facts, role, reach }: GatheredEc2): Promise<SeenEc2Facts> {
  const { document } = facts
  const seen = await call.once('instance', async () => {
    const access = await accessTo(document.accountId, document.region, reach, call.ports.sealer)
    return seeInstance(call, access, document.instanceId, role.data, document.startedAt.seconds)
  })
  const tags = seen.instance?.tags ?? {}
  return { ...facts, ...seen, ...(role.data.roleTag === '' ? {} : { tag: await seeTag(call, role, tags) }) }
}

async function seeTag(
  call: LoginCall,
  role: Item<'role'>,
  tags: Readonly<Record<string, string>>,
): Promise<TagFacts> {
  const name = role.data.roleTag
  const value = Object.hasOwn(tags, name) ? tags[name] : undefined
  const parsed = value ? parseTag(value) : undefined
  if (!value || !parsed) return { ...(value ? { value } : {}), genuine: false, denied: false }
  const tagKey = await call.ports.sealer.open(role, 'hmacKey', role.data.hmacKey)
  const [denial] = await call.ports.store.read([key('deny', mountOf(call).accessor, value)])
  return { value, tag: parsed.tag, genuine: isSignedWith(parsed, tagKey), denied: denial !== undefined }
}
