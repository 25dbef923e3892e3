import type { Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { type AwsIssuer, issuerHost } from '../../identity-proof/aws-issuer.ts'
import { parseKeySet } from '../../identity-proof/jwk.ts'
import type { FetchedKeys, IssuerMemory } from '../../model/issuer-memory.ts'
import type { Ports } from '../../ports.ts'

/** Milliseconds for which a result of a fetch counts, also a failure. Until then the issuer is not asked again. */
const RESULT_AGE_MS = 60_000
const MOST_RESULTS = 1000
const MINUTE_MS = 60_000
const FETCHES_A_MINUTE = 60
const FETCHES_OF_A_SOURCE = 10
/** Fetches a minute for the issuers of mounts, each of which is fetched once a minute at most. */
const FETCHES_OF_KNOWN_ISSUERS = 600
const FAULTS_BEFORE_PAUSE = 3
const PAUSE_MS = 30_000
/** A fetch ends after five seconds, unless the environment was frozen during the fetch. */
const LONGEST_FETCH_MS = 10_000

const newMinute = (startedAt: number): IssuerMemory['minute'] => ({
  startedAt,
  fetches: 0,
  bySource: new Map(),
  ofKnownIssuers: 0,
})

const newMemory = (): IssuerMemory => ({
  results: new Map(),
  running: new Map(),
  verifying: new Map(),
  minute: newMinute(0),
  faultsInRow: 0,
  pausedAt: 0,
})

/** Reports whether a time is less than `age` milliseconds ago. The clock may have been set back since. */
const isRecent = (at: number, now: number, age: number): boolean => at <= now && now - at < age

/** Returns what this environment remembers of its fetches. */
export function issuerMemory({ memory }: Pick<Ports, 'memory'>): IssuerMemory {
  memory.issuers ??= newMemory()
  return memory.issuers
}

/** Returns the last result of an issuer if it is younger than a minute. */
export function rememberedKeys(ports: Pick<Ports, 'memory' | 'clock'>, issuer: AwsIssuer) {
  const result = issuerMemory(ports).results.get(issuerHost(issuer))
  return result && isRecent(result.at, ports.clock.now(), RESULT_AGE_MS) ? result : undefined
}

/** Reports whether this environment fetches the keys of an issuer, or none because of faults. */
export function isFetchingOrPaused(ports: Pick<Ports, 'memory' | 'clock'>, issuer: AwsIssuer): boolean {
  const state = issuerMemory(ports)
  const now = ports.clock.now()
  return isPaused(state, now) || fetchUnderWay(state, issuer, now) !== undefined
}

const isPaused = ({ pausedAt }: IssuerMemory, now: number): boolean => isRecent(pausedAt, now, PAUSE_MS)

/** Returns the running fetch of an issuer. A fetch from before a freeze does not count, because its connection is dead. */
function fetchUnderWay({ running }: IssuerMemory, issuer: AwsIssuer, now: number) {
  const one = running.get(issuerHost(issuer))
  return one && isRecent(one.at, now, LONGEST_FETCH_MS) ? one.result : undefined
}

/**
 * Fetches the keys of an issuer. Requests of this environment that wait for the same issuer share one fetch.
 * @param deadline epoch milliseconds
 */
export function fetchIssuerKeys(
  { issuerKeys, clock, memory }: Pick<Ports, 'issuerKeys' | 'clock' | 'memory'>,
  issuer: AwsIssuer,
  deadline: number,
): Promise<FetchedKeys> {
  const state = issuerMemory({ memory })
  const host = issuerHost(issuer)
  const at = clock.now()
  const running = fetchUnderWay(state, issuer, at)
  if (running !== undefined) return running
  // a fetch that outlived a freeze ends after the fetch that took its place
  const isCurrent = () => state.running.get(host) === fetching
  const result = fetchOnce(issuerKeys, host, deadline, at)
    .then(fetched => {
      if (isCurrent()) noteResult(state, host, fetched)
      return fetched
    })
    .finally(() => isCurrent() && state.running.delete(host))
  const fetching = { at, result }
  state.running.set(host, fetching)
  return result
}

async function fetchOnce(
  issuerKeys: Ports['issuerKeys'],
  host: string,
  deadline: number,
  at: number,
): Promise<FetchedKeys> {
  const answer = await issuerKeys.fetch(host, deadline)
  if (!answer.ok) return { kind: answer.fault, at }
  const set = parseKeySet(answer.value)
  return set.ok ? { kind: 'keys', keys: set.value, at } : { kind: 'malformed', at }
}

function noteResult(state: IssuerMemory, host: string, result: FetchedKeys): void {
  if (state.results.size >= MOST_RESULTS) state.results.clear()
  state.results.set(host, result)
  const isFault = result.kind !== 'keys' && result.kind !== 'unknown'
  state.faultsInRow = isFault ? state.faultsInRow + 1 : 0
  if (state.faultsInRow < FAULTS_BEFORE_PAUSE) return
  state.faultsInRow = 0
  state.pausedAt = result.at
}

/**
 * Takes one fetch of the budget for everything that a stranger can cause. Known issuers with known keys need none.
 * Strangers who invent issuers cannot use up the fetches of known issuers.
 * @returns false if the budget of this minute, or of this client address, is used up
 */
function takeFetch(state: IssuerMemory, source: string, isKnown: boolean, now: number): boolean {
  if (isPaused(state, now)) return false
  if (!isRecent(state.minute.startedAt, now, MINUTE_MS)) state.minute = newMinute(now)
  const { minute } = state
  if (isKnown) {
    minute.ofKnownIssuers += 1
    return minute.ofKnownIssuers <= FETCHES_OF_KNOWN_ISSUERS
  }
  const own = minute.bySource.get(source) ?? 0
  if (minute.fetches >= FETCHES_A_MINUTE || own >= FETCHES_OF_A_SOURCE) return false
  minute.fetches += 1
  minute.bySource.set(source, own + 1)
  return true
}

/**
 * Fetches keys within the budget.
 * @param isKnown whether the mount has the issuer
 * @throws ApiError `busy` when the budget is used up
 */
export async function fetchWithinBudget(
  call: Call,
  issuer: AwsIssuer,
  isKnown: boolean,
): Promise<FetchedKeys> {
  const { ports, request } = call
  const state = issuerMemory(ports)
  // the request may have begun before the fetch that it shares
  const now = ports.clock.now()
  if (!fetchUnderWay(state, issuer, now) && !takeFetch(state, request.source, isKnown, now))
    throw new ApiError('busy', 'the keys of the issuer are not known yet; try again', {
      retryAfter: 5,
      reason: { why: 'jwt-learning-busy', issuer: issuer.id },
    })
  return fetchIssuerKeys(ports, issuer, request.deadline)
}

/** Builds the error for keys that could not be fetched. */
export function unreachableKeysError(issuer: AwsIssuer, kind: FetchedKeys['kind']): ApiError {
  const reason = { why: 'jwt-keys-unreachable', service: 'oidc', issuer: issuer.id, fault: kind }
  return kind === 'timeout' || kind === 'throttled'
    ? new ApiError('busy', 'the keys of the issuer could not be fetched in time', { retryAfter: 1, reason })
    : new ApiError('provider_failed', 'the keys of the issuer could not be fetched', { reason })
}
