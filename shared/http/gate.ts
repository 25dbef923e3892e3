import type { Endpoint } from '../api/endpoint.ts'
import { ApiError } from '../api/errors.ts'
import { BY_ROLE } from '../journal/counted-refusals.ts'
import { type ClusterMode, isCopyOfPrimary } from '../model/cluster.ts'
import type { Deployment } from '../ports.ts'
import {
  becomingSecondary,
  notAPrimary,
  notASecondary,
  restoredCopy,
} from '../replication/operation/refusals.ts'
import { hasSteppedDown } from '../replication/operation/transitions.ts'
import type { Base } from './base.ts'

type Serves = Endpoint['serves']

/**
 * What the gate says; `open` may still meet the role that an endpoint wants, once it is known who calls.
 * `stepped-down`: open for a secondary that was the primary of its set, `path_disabled` for all others.
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

/** Which rows of the endpoint table a cluster answers in which role. @see docs/spec/replication.md#gate */
const gate: Readonly<Record<Serves, Verdicts>> = {
  always: { none: 'open', disabled: 'open', primary: 'open', secondary: 'open', bootstrapping: 'open' },
  active: clients,
  primary: clients,
  secondary: everyRole,
  dr: everyRole,
  demotion: { ...clients, secondary: 'stepped-down' },
}

/**
 * Whether this cluster answers at all. Comes before the caller is looked at, and is the same whoever calls.
 * @param serves undefined for what no endpoint has
 * @param deployment tells a restored copy of a primary, which serves nobody
 * @throws ApiError `path_disabled` on a DR secondary, `busy` while the role changes, `not_initialised`
 */
export function checkCluster(
  { cluster }: Pick<Base, 'cluster'>,
  serves: Serves | undefined,
  deployment: Pick<Deployment, 'home'>,
): void {
  if (serves !== 'always' && isCopyOfPrimary(cluster?.record, deployment)) throw restoredCopy(byRole)
  const verdict = gate[serves ?? 'active'][cluster?.record.mode ?? 'none']
  if (verdict === 'open') return
  if (verdict === 'changing') throw becomingSecondary(byRole)
  if (verdict === 'stepped-down') {
    if (cluster && hasSteppedDown(cluster.record)) return
    throw new ApiError('path_disabled', '', byRole)
  }
  throw new ApiError(verdict, '', verdict === 'path_disabled' ? byRole : {})
}

const byRole = { reason: { why: BY_ROLE } }

/**
 * Whether this cluster has the role that an endpoint is for. Comes after the parameters: only who may call learns it.
 * @throws ApiError `invalid_request`, which names the present mode and what to do
 */
export function checkRole({ cluster }: Pick<Base, 'cluster'>, serves: Serves): void {
  const mode = cluster?.record.mode
  if (serves === 'primary' && mode && mode !== 'primary') throw notAPrimary(mode)
  if (serves === 'demotion' && mode === 'disabled') throw notAPrimary(mode)
  if (serves === 'secondary' && mode && mode !== 'secondary') throw notASecondary(mode)
}
