import type { Caller, Operator } from '../api/call.ts'
import { type Endpoint, knowsOf, type Needed, policy, takesOperationToken } from '../api/endpoint.ts'
import { ApiError, denied } from '../api/errors.ts'
import { type Fields, parameterOf } from '../api/fields.ts'
import type { Mount, MountTable } from '../model/mount.ts'
import type { Capability } from '../model/policy.ts'
import { accessorIn } from '../model/token.ts'
import type { AccessRequest } from '../policies/access.ts'
import type { Parameter } from '../policies/parameters.ts'
import type { Ports } from '../ports.ts'
import { notASecondary } from '../replication/operation/refusals.ts'
import { type Item, type Key, key } from '../storage/kinds.ts'
import { standingOf } from '../tokens/rights.ts'
import { defined } from '../values/defined.ts'
import { type Alive, authenticate, sealingTerm, takeUse } from './authenticate.ts'
import type { Base } from './base.ts'
import type { Intake } from './intake.ts'

export interface Admitted {
  caller?: Caller
  operator?: Operator
  subjectKey: Key | undefined
  subject: Item | undefined
}

type Known = Admitted & { caller: Caller }

/**
 * Who calls, and whether they may: undefined for endpoints that are for anyone.
 * @param state keeps the caller's token from one attempt to the next
 * @throws ApiError of the first check that refuses
 */
export async function admit(
  intake: Intake,
  base: Base,
  mount: Mount | undefined,
  ports: Ports,
  state: { alive?: Alive },
): Promise<Admitted | undefined> {
  const { found } = intake
  const { mounts } = base
  const identified = async () => {
    state.alive = await identify(intake, base, ports, state.alive)
    return state.alive
  }
  const unknownMount = 'mount' in found.params && mount === undefined
  if ('miss' in found) {
    if (!found.open) await loadCaller(await identified(), undefined, mounts, ports)
    return undefined
  }
  if (found.endpoint.access.by === 'anyone') {
    // a mount that does not exist is the endpoint's business: its refusal must not tell (CVE-2020-25594)
    if (intake.bodyFault) throw intake.bodyFault
    return admitKnown(found.endpoint, intake, base, ports, identified)
  }
  if (intake.bodyFault) throw intake.bodyFault
  if (found.endpoint.access.by === 'operation-token' || mayOperate(found.endpoint, intake, base))
    return admitOperator(found.endpoint, intake, base, ports, identified)
  const admission = await authorise(found.endpoint, intake, await identified(), { mounts, mount }, ports)
  if (unknownMount) throw new ApiError('no_such_mount', `no handler for route "${intake.facts.path}"`)
  return admission
}

/** Whether the token in the body counts where the one in the header would, too. */
const mayOperate = (endpoint: Endpoint, { raw }: Intake, { cluster }: Base): boolean =>
  takesOperationToken(endpoint) &&
  cluster?.record.mode === 'secondary' &&
  (raw['dr_operation_token'] ?? '') !== ''

/**
 * Who calls an endpoint that is for anyone, where a token makes a difference. One that does not count, or may not, is
 * no hindrance: its holder is a stranger.
 */
async function admitKnown(
  endpoint: Endpoint,
  intake: Intake,
  { mounts }: Base,
  ports: Ports,
  identified: () => Promise<Alive>,
): Promise<Admitted | undefined> {
  const needed = knowsOf(endpoint.access)
  if (needed === undefined || !intake.token) return undefined
  const row = { ...endpoint, access: policy(needed) }
  try {
    return await authorise(row, intake, await identified(), { mounts, mount: undefined }, ports)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/**
 * Whether a DR operation token admits a request. Where the cluster is no secondary, only the token in the header is
 * looked at; a request without one stays anonymous.
 * @throws ApiError `permission_denied`, `invalid_token`, `invalid_request`
 * @see docs/spec/operation-tokens.md#operation-tokens
 */
async function admitOperator(
  endpoint: Endpoint,
  intake: Intake,
  { cluster, mounts, fetched, now }: Base,
  ports: Ports,
  identified: () => Promise<Alive>,
): Promise<Admitted | undefined> {
  if (!cluster) throw new ApiError('not_initialised')
  const { record } = cluster
  if (record.mode !== 'secondary') {
    if (intake.token) await loadCaller(await identified(), undefined, mounts, ports)
    // nobody repeats what was never taken: a request that a secondary takes has a token
    const repeats = (intake.raw['dr_operation_token'] ?? '') !== ''
    if (endpoint.serves === 'secondary' || !repeats) throw notASecondary(record.mode)
    return undefined
  }
  // loaded here only: few functions need it, and logins should not pay for loading it
  const { operatorOf } = await import('./operation-token.ts')
  const facts = { mounts, source: intake.facts.source, now, record }
  const holder = await operatorOf(intake.raw, fetched.get(key('operation-token')), facts, ports)
  if (holder === 'generated') return { operator: 'generated', subjectKey: undefined, subject: undefined }
  const row = { ...endpoint, access: policy('update') }
  const admitted = await authorise(row, intake, holder, { mounts, mount: undefined }, ports)
  return { ...admitted, operator: 'batch' }
}

/**
 * Who calls. On the first attempt one of the token's limited uses is taken, whatever comes of the request.
 * @param before what the attempt before found
 * @throws ApiError `permission_denied`, `invalid_token`
 */
async function identify(intake: Intake, base: Base, ports: Ports, before: Alive | undefined): Promise<Alive> {
  if (before?.spent) return before
  const presented = await (await base.presented())?.open()
  const alive = authenticate(presented, base.tokenItem, {
    mounts: base.mounts,
    source: intake.facts.source,
    now: base.now,
    term: presented && (await sealingTerm(presented, base.termItem, ports)),
  })
  return before || !base.cluster ? alive : takeUse(alive, base.cluster, ports)
}

/**
 * Whether the caller may: its policies and entity, its ancestors, and the endpoint's subject in one read.
 * @throws ApiError `permission_denied`, `invalid_token`
 */
export async function authorise(
  endpoint: Endpoint,
  intake: Intake,
  alive: Alive,
  { mounts, mount }: { mounts: MountTable; mount: Mount | undefined },
  ports: Ports,
): Promise<Known> {
  const params = 'miss' in intake.found ? {} : intake.found.params
  const known = !('mount' in params) || mount !== undefined
  const subjectKey = known ? endpoint.subject?.({ mount: mount?.accessor ?? '', params }) : undefined
  const admitted = await loadCaller(alive, subjectKey, mounts, ports)
  const attempts = attemptsOf(endpoint, intake, admitted.subject)
  if (attempts.length === 0) return admitted
  // a login has no rights to check and should not pay for loading this
  const { permits } = await import('../policies/access.ts')
  if (!attempts.some(one => permits(admitted.caller.rights, one))) throw denied('policy')
  return admitted
}

/**
 * The caller's rights, from its token's and its entity's policies. A token whose entity or an ancestor is gone has
 * none.
 * @throws ApiError `permission_denied`, `invalid_token`
 */
async function loadCaller(
  { text, token, item }: Alive,
  subjectKey: Key | undefined,
  mounts: MountTable,
  ports: Ports,
): Promise<Known> {
  const standing = await standingOf(token, { ports, mounts }, subjectKey)
  if (!standing.ok) throw denied(standing.fault)
  const { rights, identityPolicies, along } = standing.value
  const caller: Caller = defined({
    token,
    item,
    accessor: accessorIn(token),
    text,
    rights,
    identityPolicies,
  })
  return { caller, subjectKey, subject: along }
}

/** What the caller has to be allowed one of; nothing where anybody may call. */
function attemptsOf(
  { access, fields }: Endpoint,
  { facts, raw }: Intake,
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

function capabilitiesFor(needed: Needed, subject: Item | undefined): Capability[] {
  if (needed === 'create-or-update') return ['create', 'update']
  return [needed === 'by-existence' ? (subject ? 'update' : 'create') : needed]
}

const namedParameters = (fields: Fields, raw: Readonly<Record<string, unknown>>): Parameter[] =>
  Object.entries(raw).map(([name, value]) => ({ ...parameterOf(fields, name), value }))
