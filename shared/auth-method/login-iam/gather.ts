import type { AskAws, AwsQuestion, Call, MountCall } from '../../api/call.ts'
import { createRefusal } from '../../api/errors.ts'
import {
  type CallerArnIdentity,
  readCallerIdentity,
  type VerifiedIdentity,
} from '../../identity-proof/caller-identity.ts'
import { requestAgeSeconds, type SignedRequest } from '../../identity-proof/signed-request.ts'
import { rebuildStsRequest, serverIdHeaders } from '../../identity-proof/sts-request.ts'
import type { AwsClientConfig, IdentityConfig } from '../../model/config.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { lowerAscii } from '../../values/names.ts'
import { iamRegionOf } from '../../values/region.ts'
import { defaultClientSettings } from '../config/client-settings.ts'
import { throwLoginRefusal, unknownRoleError } from '../login/checks.ts'
import { createInstanceQuestion } from '../login/describe-instance.ts'
import type { loginFields } from '../login/fields.ts'
import { keyHintName, rememberKeyHint } from '../login/hints.ts'
import { defaultIdentityConfig } from '../login/metadata.ts'
import { lookUpOrganization } from '../login/organization-checks.ts'
import type { CompleteIamFacts, IamFacts } from './facts.ts'
import { findFullPrincipalArn } from './full-arn.ts'
import { inferredInstanceId, roleAdmitsPrincipal } from './principal.ts'

type LoginCall = MountCall<typeof loginFields>

/** Returns the keys of the items that an iam login reads and that the caller's identity determines. */
const iamKeys = (accessor: string, roleName: string) =>
  [key('client-config', accessor), key('identity-config', accessor), key('role', accessor, roleName)] as const

/** Returns the keys of the items that this caller's login reads, if they are known or can be guessed. */
function keysOfCaller(call: LoginCall, caller: CallerArnIdentity): Key[] {
  const { accessor } = call.mount
  const { keyHints } = call.ports
  const roleName = roleNameOf(call, caller)
  if (roleName === '') return []
  const kind = keyHints.get(keyHintName.aliasKind(accessor, 'iam')) as IdentityConfig['iamAlias'] | undefined
  const roleId = keyHints.get(keyHintName.roleId(accessor, roleName)) ?? ''
  const alias = kind && aliasOf(kind, roleId, caller)
  return [...iamKeys(accessor, roleName), ...(alias ? [key('alias', accessor, alias)] : [])]
}

/** Returns the name of the login's role; empty if the request names none and an instance calls. */
const roleNameOf = ({ parameters }: LoginCall, caller: CallerArnIdentity): string =>
  parameters.role || (caller.kind === 'instance' ? '' : lowerAscii(caller.entity.name))

/**
 * Builds the question that sends the caller's request to STS and reads the caller's identity from the response. The rebuilt
 * request is the key of the question. @throws ApiError if the configuration does not allow the request
 */
export async function buildStsQuestion(
  call: LoginCall,
  request: SignedRequest,
): Promise<AwsQuestion<VerifiedIdentity>> {
  const [client] = await call.fetched.read([key('client-config', call.mount.accessor)])
  const outbound = buildStsRequest(request, client?.data ?? defaultClientSettings, call)
  if (!outbound.ok) return throwLoginRefusal(outbound.fault)
  return {
    key: JSON.stringify(['sts', outbound.value]),
    ask: async () => {
      const answer = await call.ports.callerIdentity.forward(outbound.value, call.request.deadline)
      const identity = readCallerIdentity(answer, requestAgeSeconds(request, call.now))
      return identity.ok ? identity.value : throwLoginRefusal(identity.fault, identity.fault.seen)
    },
    leadsTo: caller => keysOfCaller(call, caller),
  }
}

/** Rebuilds the caller's request for STS, or returns why the request is malformed. */
export const buildStsRequest = (
  request: SignedRequest,
  config: AwsClientConfig,
  { ports: { deployment }, mount }: Pick<Call, 'ports' | 'mount'>,
) =>
  rebuildStsRequest(request, {
    serverId: config.serverId,
    serverIdHeader: mount?.type.startsWith('aws') ? serverIdHeaders.aws : serverIdHeaders.cloud,
    allowedHeaders: config.allowedHeaders,
    endpoint: config.stsEndpoint,
    regionFromClient: config.useStsRegionFromClient,
    endpointRegion: config.stsRegion,
    homeRegion: deployment.region,
    maxRetries: config.maxRetries,
  })

export interface GatheredIamFacts<F extends IamFacts = IamFacts> {
  facts: F
  alias: Item<'alias'> | undefined
  client: Item<'client-config'> | undefined
}

/** Reads everything that this caller's login depends on. @throws ApiError if the role does not exist */
export async function gatherIamFacts(call: LoginCall, caller: VerifiedIdentity): Promise<GatheredIamFacts> {
  const mount = call.mount
  const roleName = roleNameOf(call, caller)
  const { accessor } = mount
  if (roleName === '')
    return throwLoginRefusal(createRefusal('role-required', 'role is required for this kind of caller'))
  const [client, config, role] = await call.fetched.read(iamKeys(accessor, roleName))
  if (!role) throw unknownRoleError(roleName)
  const identity = config?.data ?? defaultIdentityConfig
  rememberKeyHint(call.ports, keyHintName.aliasKind(mount.accessor, 'iam'), identity.iamAlias)
  rememberKeyHint(call.ports, keyHintName.roleId(mount.accessor, roleName), role.data.roleId)
  const aliasName = aliasOf(identity.iamAlias, role.data.roleId, caller)
  const [alias] = await call.fetched.read([key('alias', mount.accessor, aliasName)])
  const { source } = call.request
  const facts: IamFacts = {
    type: 'iam',
    roleName,
    role: role.data,
    source,
    aliasName,
    caller,
    identity,
    ...(await lookUpOrganization(call, call.fetched.read, 'iam', role.data, caller.account)),
  }
  return { facts, alias, client }
}

const aliasOf = (kind: IdentityConfig['iamAlias'], roleId: string, caller: CallerArnIdentity): string =>
  ({
    role_id: roleId,
    unique_id: caller.uniqueId,
    canonical_arn: caller.canonicalArn,
    full_arn: caller.arn,
  })[kind]

/** The results from IAM and EC2 for a caller, as far as the role needs them. */
export type CallerLookUps = Pick<CompleteIamFacts, 'fullArn' | 'inferred'>

/** Asks IAM for the caller's full ARN and EC2 for the inferred instance, each only if the role needs the answer. */
export async function lookUpCaller(
  call: LoginCall,
  { facts: { role, caller }, client }: GatheredIamFacts,
  ask: AskAws,
): Promise<CallerLookUps> {
  const { account, uniqueId } = caller
  // only IAM knows the full ARN of a principal; an instance has no other ARN
  const entity = caller.kind === 'principal' ? caller.entity : undefined
  const wild = roleAdmitsPrincipal(role, caller) === 'look-up' ? entity : undefined
  const id = role.inferredEntityType === '' ? undefined : inferredInstanceId(caller)
  if (!wild && id === undefined) return { fullArn: undefined, inferred: undefined }
  const [sts] = await call.fetched.read([key('sts-role', call.mount.accessor, account)])
  const accessTo = (region: string) => ({ account, region, client, sts })
  const fullArn = wild
    ? await findFullPrincipalArn(call, accessTo(iamRegionOf(wild.partition)), wild, uniqueId, ask)
    : undefined
  if (id === undefined) return { fullArn, inferred: undefined }
  const region = role.inferredAwsRegion
  const seen = await ask(
    createInstanceQuestion(call, accessTo(region), { id, role, startedAt: call.now / 1000 }),
  )
  return { fullArn, inferred: { ...seen, instanceId: id, region, account } }
}
