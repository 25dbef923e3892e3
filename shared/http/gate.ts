import type { Endpoint } from '../api/endpoint.ts'
import { ApiError } from '../api/errors.ts'
import { REFUSED_BY_ROLE } from '../journal/counted-refusals.ts'
import { type ClusterMode, isCopyOfPrimary } from '../model/cluster.ts'
import type { Deployment } from '../ports.ts'
import {
  becomingSecondaryError,
  notAPrimaryError,
  notASecondaryError,
  restoredPrimaryCopyError,
} from '../replication/operation/refusals.ts'
import { hasSteppedDown } from '../replication/operation/transitions.ts'
import type { FirstRead } from './base.ts'

type Serves = Endpoint['serves']

/**
 * The result of the gate. `open`: the gate admits the request, and `checkClusterRole` may still reject the role,
 * once the caller is authorised. `stepped-down`: open for a secondary that was the primary of its set;
 * `path_disabled` for other clusters.
 */
type Verdict = 'open' | 'path_disabled' | 'changing' | 'not_initialised' | 'stepped-down'

type Verdicts = Readonly<Record<ClusterMode | 'none', Verdict>>

const of = (verdicts: Readonly<Record<ClusterMode, Verdict>>): Verdicts => ({
  none: 'not_initialised',
  ...verdicts,
})
const clients = of({
  disabled: 'open',
  primary: 'open',
  secondary: 'path_disabled',
  bootstrapping: 'changing',
})
const everyRole = of({ disabled: 'open', primary: 'open', secondary: 'open', bootstrapping: 'changing' })

/** The result for each `serves` value and cluster mode. @see docs/spec/replication.md#gate */
const gate: Readonly<Record<Serves, Verdicts>> = {
  always: { none: 'open', disabled: 'open', primary: 'open', secondary: 'open', bootstrapping: 'open' },
  active: clients,
  primary: clients,
  secondary: everyRole,
  dr: everyRole,
  demotion: { ...clients, secondary: 'stepped-down' },
}

/**
 * Checks whether this cluster serves the endpoint at all, before the caller is authenticated. The result of the
 * gate is the same for every caller.
 * @param serves undefined: no endpoint matched
 * @param deployment identifies a restored copy of a primary, which serves nobody
 * @throws ApiError `path_disabled` on a DR secondary, `busy` while the role changes, `not_initialised`
 */
export function checkClusterServes(
  { cluster }: Pick<FirstRead, 'cluster'>,
  serves: Serves | undefined,
  deployment: Pick<Deployment, 'home'>,
): void {
  if (serves !== 'always' && isCopyOfPrimary(cluster?.record, deployment))
    throw restoredPrimaryCopyError(byRole)
  const verdict = gate[serves ?? 'active'][cluster?.record.mode ?? 'none']
  if (verdict === 'open') return
  if (verdict === 'changing') throw becomingSecondaryError(byRole)
  if (verdict === 'stepped-down') {
    if (cluster && hasSteppedDown(cluster.record)) return
    throw new ApiError('path_disabled', '', byRole)
  }
  throw new ApiError(verdict, '', verdict === 'path_disabled' ? byRole : {})
}

const byRole = { reason: { why: REFUSED_BY_ROLE } }

/**
 * Checks whether this cluster has the endpoint's role. Runs after the parameters are checked, so only authorised callers learn the
 * role.
 * @throws ApiError `invalid_request`, with the current mode and what to do
 */
export function checkClusterRole({ cluster }: Pick<FirstRead, 'cluster'>, serves: Serves): void {
  const mode = cluster?.record.mode
  if (serves === 'primary' && mode && mode !== 'primary') throw notAPrimaryError(mode)
  if (serves === 'demotion' && mode === 'disabled') throw notAPrimaryError(mode)
  if (serves === 'secondary' && mode && mode !== 'secondary') throw notASecondaryError(mode)
}
