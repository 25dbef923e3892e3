import type { Caller, OperationTokenKind } from '../api/call.ts'
import type { Endpoint, NeededCapability } from '../api/endpoint.ts'
import { denialError } from '../api/errors.ts'
import { findParameter, type ParameterFields } from '../api/fields.ts'
import type { Mount, MountTable } from '../model/mount.ts'
import type { Capability } from '../model/policy.ts'
import { accessorOfToken } from '../model/token.ts'
import type { AccessRequest } from '../policies/access.ts'
import type { RequestParameter } from '../policies/parameters.ts'
import type { Ports } from '../ports.ts'
import type { Item, Key } from '../storage/kinds.ts'
import { loadTokenRights } from '../tokens/rights.ts'
import { defined } from '../values/defined.ts'
import type { ValidToken } from './authenticate.ts'
import type { RequestIntake } from './intake.ts'

export interface AdmittedRequest {
  caller?: Caller
  operator?: OperationTokenKind
  subjectKey: Key | undefined
  subject: Item | undefined
}

type Known = AdmittedRequest & { caller: Caller }

/**
 * Authorises the caller. One read fetches the token's policies, its entity and the endpoint's subject.
 * @throws ApiError `permission_denied`, `invalid_token`
 */
export async function authoriseRequest(
  endpoint: Endpoint,
  intake: RequestIntake,
  alive: ValidToken,
  { mounts, mount }: { mounts: MountTable; mount: Mount | undefined },
  ports: Ports,
): Promise<Known> {
  const pathParameters = intake.match.kind === 'miss' ? {} : intake.match.pathParameters
  const known = pathParameters['mount'] === undefined || mount !== undefined
  const subjectKey = known ? endpoint.subject?.({ mount: mount?.accessor ?? '', pathParameters }) : undefined
  const admitted = await loadCaller(alive, subjectKey, mounts, ports)
  const attempts = attemptsOf(endpoint, intake, admitted.subject)
  if (attempts.length === 0) return admitted
  // loaded on demand: a login checks no rights, and loading this would slow it down
  const { permitsRequest } = await import('../policies/access.ts')
  if (!attempts.some(one => permitsRequest(admitted.caller.rights, one))) throw denialError('policy')
  return admitted
}

/**
 * Loads the caller's rights from the policies of its token and its entity. A token whose entity or ancestor is gone
 * has no rights.
 * @throws ApiError `permission_denied`, `invalid_token`
 */
export async function loadCaller(
  { text, token, item }: ValidToken,
  subjectKey: Key | undefined,
  mounts: MountTable,
  ports: Ports,
): Promise<Known> {
  const standing = await loadTokenRights(token, { ports, mounts }, subjectKey)
  if (!standing.ok) throw denialError(standing.fault)
  const { rights, identityPolicies, along } = standing.value
  const caller: Caller = defined({
    token,
    item,
    accessor: accessorOfToken(token),
    text,
    rights,
    identityPolicies,
  })
  return { caller, subjectKey, subject: along }
}

/** Returns the access requests of which one must be permitted; empty for anonymous endpoints. */
function attemptsOf(
  { access, fields }: Endpoint,
  { facts, raw }: RequestIntake,
  subject: Item | undefined,
): AccessRequest[] {
  if (access.by !== 'policy') return []
  return capabilitiesFor(access.capability, subject).map(capability =>
    defined({
      path: facts.path,
      capability,
      sudo: access.sudo || undefined,
      parameters: facts.operation === 'write' ? namedParameters(fields, raw) : undefined,
      wrapTtl: facts.wrapTtl,
    }),
  )
}

function capabilitiesFor(needed: NeededCapability, subject: Item | undefined): Capability[] {
  if (needed === 'create-or-update') return ['create', 'update']
  return [needed === 'by-existence' ? (subject ? 'update' : 'create') : needed]
}

const namedParameters = (
  fields: ParameterFields,
  raw: Readonly<Record<string, unknown>>,
): RequestParameter[] =>
  Object.entries(raw).map(([name, value]) => ({ ...findParameter(fields, name), value }))
