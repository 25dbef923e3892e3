import { type Call, mountOf } from '../../api/call.ts'
import { invalid } from '../../api/errors.ts'
import { type Identity, readIdentity } from '../../identity-proof/caller-identity.ts'
import type { SignedRequest } from '../../identity-proof/signed-request.ts'
import { rebuildRequest } from '../../identity-proof/sts-request.ts'
import { maxTtlOf } from '../../mounts/mount.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { canonicalArn } from '../../values/arn.ts'
import { lowerAscii } from '../../values/names.ts'
import { iamRegionOf } from '../../values/region.ts'
import { accessTo } from '../accounts.ts'
import { defaultClient } from '../config/client.ts'
import { defaultIdentity } from '../config/identity.ts'
import type { IdentityConfig } from '../config/stored.ts'
import { refuse } from '../login/checks.ts'
import { fetchItems, recallOf, remember } from '../login/fetch.ts'
import type { loginFields } from '../login/fields.ts'
import { seeInstance } from '../login/instance.ts'
import type { Role } from '../roles/role.ts'
import type { IamFacts, InferredInstance, SeenIamFacts } from './facts.ts'
import { fullArnOf } from './full-arn.ts'
import { admits } from './principal.ts'

type LoginCall = Call<typeof loginFields>

/** The items of an iam login that are known by name before STS is asked. */
export const iamKeys = (accessor: string, roleName: string | undefined): Key[] => [
  key('client-config', accessor),
  key('identity-config', accessor),
  ...(roleName ? [key('role', accessor, roleName)] : []),
]

/** A guess at the alias's key: possible where aliases are named after the role. */
export function guessIamAlias(
  recall: Map<string, string>,
  accessor: string,
  roleName: string | undefined,
): Key<'alias'>[] {
  const roleId = roleName && recall.get(recallOf.roleId(accessor, roleName))
  return roleId && recall.get(recallOf.aliasKind(accessor, 'iam')) === 'role_id'
    ? [key('alias', accessor, roleId)]
    : []
}

/** Sends the caller's request to STS and reads who it is. @throws ApiError */
export async function askSts(call: LoginCall, request: SignedRequest): Promise<Identity> {
  const { accessor } = mountOf(call)
  await fetchItems(call, iamKeys(accessor, call.given.role))
  const config = call.fetched.get(key('client-config', accessor))?.data ?? defaultClient
  const outbound = rebuildRequest(request, {
    serverId: config.serverId,
    allowedHeaders: config.allowedHeaders,
    endpoint: config.stsEndpoint,
    regionFromClient: config.useStsRegionFromClient,
    endpointRegion: config.stsRegion,
    homeRegion: call.ports.deployment.region,
    maxRetries: config.maxRetries,
  })
  if ('why' in outbound) return refuse(outbound)
  const answer = await call.once('sts', () => call.ports.callerIdentity.ask(outbound, call.request.deadline))
  const identity = readIdentity(answer)
  return 'why' in identity ? refuse(identity) : identity
}

export interface GatheredIam {
  facts: IamFacts
  alias: Item<'alias'> | undefined
  client: Item<'client-config'> | undefined
}

/** Reads what a login of this caller depends on. @throws ApiError when there is no such role */
export async function gatherIam(call: LoginCall, caller: Identity): Promise<GatheredIam> {
  const mount = mountOf(call)
  const roleName = call.given.role || lowerAscii(caller.entity.name)
  const { accessor } = mount
  await fetchItems(call, [
    ...iamKeys(accessor, roleName),
    ...guessIamAlias(call.ports.recall, accessor, roleName),
  ])
  const client = call.fetched.get(key('client-config', accessor))
  const config = call.fetched.get(key('identity-config', accessor))
  const role = call.fetched.get(key('role', accessor, roleName))
  if (!role) throw invalid(`no role named "${roleName}"`, { reason: { why: 'no-role', role: roleName } })
  const identity = config?.data ?? defaultIdentity
  remember(call.ports, recallOf.aliasKind(mount.accessor, 'iam'), identity.iamAlias)
  remember(call.ports, recallOf.roleId(mount.accessor, roleName), role.data.roleId)
  const aliasName = aliasOf(identity.iamAlias, role.data, caller)
  const [alias] = await fetchItems(call, [key('alias', mount.accessor, aliasName)])
  const { source } = call.request
  const facts: IamFacts = {
    type: 'iam',
    roleName,
    role: role.data,
    source,
    aliasName,
    caller,
    identity,
    mountMax: maxTtlOf(mount),
  }
  return { facts, alias, client }
}

const aliasOf = (kind: IdentityConfig['iamAlias'], role: Role, caller: Identity): string =>
  ({
    role_id: role.roleId,
    unique_id: caller.uniqueId,
    canonical_arn: canonicalArn(caller.entity),
    full_arn: caller.arn,
  })[kind]

/** Asks IAM for the caller's path and EC2 for the inferred instance, each only where the role needs it. */
export async function seeIam(call: LoginCall, { facts, client }: GatheredIam): Promise<SeenIamFacts> {
  const { role, caller } = facts
  const lookUp =
    admits(role, { uniqueId: caller.uniqueId, canonicalArn: canonicalArn(caller.entity) }) === 'look-up'
  const instanceId = role.inferredEntityType === '' ? undefined : inferredId(caller)
  if (!lookUp && instanceId === undefined) return facts
  const { account, partition } = caller.entity
  const [sts] = await fetchItems(call, [key('sts-role', mountOf(call).accessor, account)])
  const reach = (region: string) => accessTo(account, region, { client, sts }, call.ports.sealer)
  const fullArn = lookUp
    ? await call.once('principal', async () =>
        fullArnOf(call, await reach(iamRegionOf(partition)), caller.entity, caller.uniqueId),
      )
    : undefined
  const inferred = instanceId === undefined ? undefined : await seeInferred(call, facts, instanceId, reach)
  return { ...facts, ...(fullArn === undefined ? {} : { fullArn }), ...(inferred ? { inferred } : {}) }
}

const INSTANCE = /^i-[0-9a-f]{8,17}$/

/** EC2 names the sessions of its instances after them. */
export const inferredId = ({ entity }: Identity): string | undefined =>
  entity.session !== undefined && INSTANCE.test(entity.session) ? entity.session : undefined

async function seeInferred(
  call: LoginCall,
  { role, caller }: IamFacts,
  instanceId: string,
  reach: (region: string) => ReturnType<typeof accessTo>,
): Promise<InferredInstance> {
  const region = role.inferredAwsRegion
  const seen = await call.once('instance', async () =>
    seeInstance(call, await reach(region), instanceId, role, call.now / 1000),
  )
  return { ...seen, instanceId, region, account: caller.entity.account }
}
