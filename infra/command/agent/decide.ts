/** Times are epoch milliseconds, and a chance is a number from 0 up to 1. */

/** The token that the agent keeps. */
export interface KeptToken {
  /** base URL of the cluster that last accepted the token */
  cluster: string
  /** lifetime that the login gave, in seconds; 0: the token does not end */
  lease: number
  /** time of the next renewal, or of the next login if `mayRenew` is false */
  due: number
  /** time from which a login replaces a renewal that keeps failing */
  late: number
  /** false: the token cannot be renewed, or its maximum lifetime is near */
  mayRenew: boolean
}

export interface AgentState {
  /** base URL of the cluster that served at the last look; absent: no cluster served */
  active?: string
  /** true: the agent looked after its last pause, so `active` is recent */
  hasLooked: boolean
  /** absent: the agent has no token yet */
  kept?: KeptToken
  /** time of the next look, if no other step needs an earlier one */
  lookAt: number
  /** earliest time of the next step after a failure */
  retryAt: number
  /** number of failures in a row */
  failures: number
}

export type AgentStep =
  /** asks the clusters for their health, without a token */
  | { do: 'look' }
  | { do: 'login' }
  | { do: 'renew' }
  /** looks the token up on a cluster that has taken over */
  | { do: 'verify' }
  | { do: 'wait'; until: number }

export const initialAgentState: AgentState = { hasLooked: false, lookAt: 0, retryAt: 0, failures: 0 }

/** Decides the next step of the agent. Every request with a credential follows a look. */
export function decideAgentStep(state: AgentState, now: number): AgentStep {
  const { kept, hasLooked, lookAt, retryAt } = state
  if (now < retryAt) return { do: 'wait', until: retryAt }
  const work = findDueWork(state, now)
  if (!hasLooked && (work !== undefined || now >= lookAt)) return { do: 'look' }
  return work === undefined ? { do: 'wait', until: Math.min(lookAt, kept?.due ?? lookAt) } : { do: work }
}

function findDueWork({ kept, active, hasLooked }: AgentState, now: number) {
  if (!kept || now >= kept.late) return 'login'
  if (now >= kept.due) return kept.mayRenew ? 'renew' : 'login'
  return hasLooked && active !== kept.cluster ? 'verify' : undefined
}

/** Share of a lifetime after which the agent renews, and the part of the share that chance may take off. */
const RENEWAL = { share: 2 / 3, jitter: 0.1 }
/** Share of a lifetime after which the agent logs in, if no renewal succeeded. */
const LATE_SHARE = 0.9
/** Least milliseconds between two renewals or logins, so a server with tiny lifetimes is not asked in a loop. */
const LEAST_MS = 500

const timesOf = (lease: number, now: number, chance: number) =>
  lease === 0
    ? { due: Number.POSITIVE_INFINITY, late: Number.POSITIVE_INFINITY }
    : {
        due: now + Math.max(LEAST_MS, lease * 1000 * RENEWAL.share * (1 - RENEWAL.jitter * chance)),
        late: now + Math.max(LEAST_MS, lease * 1000 * LATE_SHARE),
      }

/** A step that succeeded ends a series of failures, and the next step needs a new look. */
const succeeded = (state: AgentState, kept: KeptToken): AgentState => ({
  ...state,
  kept,
  hasLooked: false,
  retryAt: 0,
  failures: 0,
})

interface Granted {
  cluster: string
  /** seconds; 0: without end */
  lease: number
  renewable: boolean
}

export const afterLogin = (
  state: AgentState,
  { cluster, lease, renewable }: Granted,
  now: number,
  chance: number,
): AgentState => succeeded(state, { cluster, lease, mayRenew: renewable, ...timesOf(lease, now, chance) })

/** Rounding may take a second off a lifetime. */
const ROUNDING_S = 1

/** A renewal that gives less than the login gave shows that the maximum lifetime of the token is near. */
export const afterRenewal = (
  state: AgentState,
  kept: KeptToken,
  { cluster, lease, renewable }: Granted,
  now: number,
  chance: number,
): AgentState =>
  succeeded(state, {
    cluster,
    lease: kept.lease,
    mayRenew: renewable && lease >= kept.lease - ROUNDING_S,
    ...timesOf(lease, now, chance),
  })

/** The cluster that has taken over knows the token. */
export const afterVerification = (state: AgentState, kept: KeptToken, cluster: string): AgentState =>
  succeeded(state, { ...kept, cluster })

/** A cluster refused the token, so a login follows at once. The agent keeps the old token until then. */
export const afterRefusal = (state: AgentState, kept: KeptToken, now: number): AgentState => ({
  ...state,
  kept: { ...kept, due: Math.min(kept.due, now), mayRenew: false },
})

/** @param active base URL of the cluster that serves; undefined: no cluster serves */
export const afterLook = (
  state: AgentState,
  active: string | undefined,
  { now, everyMs, chance }: { now: number; everyMs: number; chance: number },
): AgentState => {
  const { active: _, ...others } = state
  const looked = { ...others, hasLooked: true, lookAt: now + everyMs * (1 - 0.1 * chance) }
  return active === undefined ? afterFailure(looked, now, chance) : { ...looked, active }
}

export const afterPause = (state: AgentState): AgentState => ({ ...state, hasLooked: false })

/** Milliseconds until the agent tries again after a failure; the time doubles with each failure. */
const RETRY = { first: 1000, most: 30_000 }

/** A step failed, and may succeed later or on another cluster. */
export const afterFailure = (state: AgentState, now: number, chance: number): AgentState => {
  const pause = Math.min(RETRY.most, RETRY.first * 2 ** Math.min(state.failures, 10))
  return {
    ...state,
    hasLooked: false,
    failures: state.failures + 1,
    retryAt: now + pause * (1 - 0.5 * chance),
  }
}
