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
const FAULTS_BEFORE_PAUSE = 3
const PAUSE_MS = 30_000

const newMemory = (): IssuerMemory => ({
  results: new Map(),
  running: new Map(),
  verifying: new Map(),
  minute: { startedAt: 0, fetches: 0, bySource: new Map() },
  faultsInRow: 0,
  pausedUntil: 0,
})

/** Returns what this environment remembers of its fetches. */
export function issuerMemory({ memory }: Pick<Ports, 'memory'>): IssuerMemory {
  memory.issuers ??= newMemory()
  return memory.issuers
}

/** Returns the last result of an issuer if it is younger than a minute. */
export function rememberedKeys(ports: Pick<Ports, 'memory'>, issuer: AwsIssuer, now: number) {
  const result = issuerMemory(ports).results.get(issuerHost(issuer))
  return result && now - result.at < RESULT_AGE_MS ? result : undefined
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
  const running = state.running.get(host)
  if (running !== undefined) return running
  const fetching = fetchOnce(issuerKeys, host, deadline, clock.now())
    .then(result => {
      noteResult(state, host, result)
      return result
    })
    .finally(() => state.running.delete(host))
  state.running.set(host, fetching)
  return fetching
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
  state.pausedUntil = result.at + PAUSE_MS
}

/**
 * Takes one fetch of the budget for everything that a stranger can cause. Known issuers with known keys need none.
 * @returns false if the budget of this minute, or of this client address, is used up
 */
function takeFetch(state: IssuerMemory, source: string, now: number): boolean {
  if (now < state.pausedUntil) return false
  if (now - state.minute.startedAt >= MINUTE_MS)
    state.minute = { startedAt: now, fetches: 0, bySource: new Map() }
  const { minute } = state
  const own = minute.bySource.get(source) ?? 0
  if (minute.fetches >= FETCHES_A_MINUTE || own >= FETCHES_OF_A_SOURCE) return false
  minute.fetches += 1
  minute.bySource.set(source, own + 1)
  return true
}

/** Fetches keys within the budget. @throws ApiError `busy` when the budget is used up */
export async function fetchWithinBudget(call: Call, issuer: AwsIssuer): Promise<FetchedKeys> {
  const { ports, request, now } = call
  const state = issuerMemory(ports)
  if (!state.running.has(issuerHost(issuer)) && !takeFetch(state, request.source, now))
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
