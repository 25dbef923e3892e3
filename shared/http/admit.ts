import { byPolicy, type Endpoint, identifyingCapability, takesOperationToken } from '../api/endpoint.ts'
import { ApiError } from '../api/errors.ts'
import type { Mount } from '../model/mount.ts'
import type { Ports } from '../ports.ts'
import { authenticate, type LiveToken, readSealingTerm, takeUse } from './authenticate.ts'
import { type Admitted, authorise, loadCaller } from './authorise.ts'
import type { Base } from './base.ts'
import type { Intake } from './intake.ts'

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
  state: { alive?: LiveToken },
): Promise<Admitted | undefined> {
  const { match } = intake
  const { mounts } = base
  const identified = async () => {
    state.alive = await identify(intake, base, ports, state.alive)
    return state.alive
  }
  const unknownMount = match.pathParameters['mount'] !== undefined && mount === undefined
  if (match.kind === 'miss') {
    if (!match.open) await loadCaller(await identified(), undefined, mounts, ports)
    return undefined
  }
  if (match.endpoint.access.by === 'anyone') {
    // a mount that does not exist is the endpoint's business: its refusal must not tell (CVE-2020-25594)
    if (intake.bodyFault) throw intake.bodyFault
    return admitKnown(match.endpoint, intake, base, ports, identified)
  }
  if (intake.bodyFault) throw intake.bodyFault
  if (match.endpoint.access.by === 'operation-token' || mayOperate(match.endpoint, intake, base)) {
    // loaded here only: few functions need it, and logins should not pay for loading it
    const { admitOperator } = await import('./operation-token.ts')
    return admitOperator(match.endpoint, intake, base, ports, identified)
  }
  const admission = await authorise(match.endpoint, intake, await identified(), { mounts, mount }, ports)
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
  identified: () => Promise<LiveToken>,
): Promise<Admitted | undefined> {
  const needed = identifyingCapability(endpoint.access)
  if (needed === undefined || !intake.token) return undefined
  const row = { ...endpoint, access: byPolicy(needed) }
  try {
    return await authorise(row, intake, await identified(), { mounts, mount: undefined }, ports)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/**
 * Who calls. On the first attempt one of the token's limited uses is taken, whatever comes of the request.
 * @param before what the attempt before found
 * @throws ApiError `permission_denied`, `invalid_token`
 */
async function identify(
  intake: Intake,
  base: Base,
  ports: Ports,
  before: LiveToken | undefined,
): Promise<LiveToken> {
  if (before?.spent) return before
  const presented = await (await base.presented())?.open()
  const alive = authenticate(presented, base.tokenItem, {
    mounts: base.mounts,
    source: intake.facts.source,
    now: base.now,
    term: presented && (await readSealingTerm(presented, base.termItem, ports)),
  })
  return before || !base.cluster ? alive : takeUse(alive, base.cluster, ports)
}
