import { allowByPolicy, type Endpoint, identifyingCapability, takesOperationToken } from '../api/endpoint.ts'
import { ApiError } from '../api/errors.ts'
import type { Mount } from '../model/mount.ts'
import type { Ports } from '../ports.ts'
import { authenticateToken, countTokenUse, readSealingTerm, type ValidToken } from './authenticate.ts'
import { type AdmittedRequest, authoriseRequest, loadCaller } from './authorise.ts'
import type { FirstRead } from './base.ts'
import type { RequestIntake } from './intake.ts'

/**
 * Authenticates and authorises the caller. Returns undefined for anonymous endpoints.
 * @param state keeps the caller's token between attempts
 * @throws ApiError of the first check that fails
 */
export async function admitCaller(
  intake: RequestIntake,
  base: FirstRead,
  mount: Mount | undefined,
  ports: Ports,
  state: { alive?: ValidToken },
): Promise<AdmittedRequest | undefined> {
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
    // the endpoint handles a missing mount, because its error must not reveal whether the mount exists (CVE-2020-25594)
    if (intake.bodyFault) throw intake.bodyFault
    return admitKnown(match.endpoint, intake, base, ports, identified)
  }
  if (intake.bodyFault) throw intake.bodyFault
  if (match.endpoint.access.by === 'operation-token' || mayOperate(match.endpoint, intake, base)) {
    // loaded on demand: few functions need this code, and it would slow down logins
    const { admitOperationToken } = await import('./operation-token.ts')
    return admitOperationToken(match.endpoint, intake, base, ports, identified)
  }
  const admission = await authoriseRequest(
    match.endpoint,
    intake,
    await identified(),
    { mounts, mount },
    ports,
  )
  if (unknownMount) throw new ApiError('no_such_mount', `no handler for route "${intake.facts.path}"`)
  return admission
}

/** Reports whether the DR operation token in the body counts, where a token in the header would too. */
const mayOperate = (endpoint: Endpoint, { raw }: RequestIntake, { cluster }: FirstRead): boolean =>
  takesOperationToken(endpoint) &&
  cluster?.record.mode === 'secondary' &&
  (raw['dr_operation_token'] ?? '') !== ''

/**
 * Identifies the caller of an anonymous endpoint for which a token matters. A caller with an invalid token or without the
 * capability stays anonymous.
 */
async function admitKnown(
  endpoint: Endpoint,
  intake: RequestIntake,
  { mounts }: FirstRead,
  ports: Ports,
  identified: () => Promise<ValidToken>,
): Promise<AdmittedRequest | undefined> {
  const needed = identifyingCapability(endpoint.access)
  if (needed === undefined || !intake.token) return undefined
  const row = { ...endpoint, access: allowByPolicy(needed) }
  try {
    return await authoriseRequest(row, intake, await identified(), { mounts, mount: undefined }, ports)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/**
 * Authenticates the caller. The first attempt of a request counts one of the token's limited uses, whatever the
 * request's result is.
 * @param before result of the previous attempt
 * @throws ApiError `permission_denied`, `invalid_token`
 */
async function identify(
  intake: RequestIntake,
  base: FirstRead,
  ports: Ports,
  before: ValidToken | undefined,
): Promise<ValidToken> {
  if (before?.spent) return before
  const presented = await (await base.presented())?.open()
  const alive = authenticateToken(presented, base.tokenItem, {
    mounts: base.mounts,
    source: intake.facts.source,
    now: base.now,
    term: presented && (await readSealingTerm(presented, base.termItem, ports)),
  })
  return before || !base.cluster ? alive : countTokenUse(alive, base.cluster, ports)
}
