import type { AskAws, MountCall } from '../../api/call.ts'
import { ApiError, createRefusal } from '../../api/errors.ts'
import type { ParsedJwt, VerifiedJwt } from '../../identity-proof/jwt.ts'
import { untrustedIssuer } from '../../identity-proof/jwt.ts'
import type { FetchedKeys } from '../../model/issuer-memory.ts'
import type { IssuerKey, JwtConfig } from '../../model/jwt.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { jwtAliasOf } from '../config/identity-jwt.ts'
import { throwLoginRefusal, unknownRoleError } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { keyHintName, rememberKeyHint } from '../login/hints.ts'
import { defaultIdentityConfig } from '../login/metadata.ts'
import { chooseTokenType } from '../login/outcome.ts'
import { type JwtBearer, type JwtFacts, jwtAliasName } from './facts.ts'
import {
  fetchIssuerKeys,
  fetchWithinBudget,
  isFetchingOrPaused,
  rememberedKeys,
  unreachableKeysError,
} from './fetch-keys.ts'
import {
  findTokenPlaces,
  type JwtProof,
  type KeyGuess,
  keysOfLogin,
  rememberVerifyingKey,
  type TokenPlaces,
  verifyWithGuess,
} from './prepare.ts'
import { describeToken, findIssuerFault, findTokenFault, identifyBearer } from './token-checks.ts'

type LoginCall = MountCall<typeof loginFields>

/** Milliseconds for which fetched keys count as current. */
const REFRESH_AGE_MS = 3_600_000

/** The stored items that decide whether a token is trusted. */
export interface TokenTrust {
  jwt: ParsedJwt
  places: TokenPlaces
  guess: KeyGuess | undefined
  config: JwtConfig
  issuer: Item<'issuer'> | undefined
}

/**
 * The keys of an issuer. `fetched` is set if they differ from the stored keys, so a login stores them. `judged` is what
 * one of the keys says about the token, if the key has judged the token already.
 */
export interface IssuerKeys {
  keys: readonly IssuerKey[]
  fetched?: Extract<FetchedKeys, { kind: 'keys' }>
  judged?: KeyGuess | undefined
}

/** Reads what decides about the token, and makes the checks that need neither keys nor a role. */
export async function gatherTokenTrust(call: LoginCall, proof: JwtProof): Promise<TokenTrust> {
  const { jwt, guess } = proof
  const { accessor } = call.mount
  // the mount at this path may have changed since the login was prepared
  const ours = proof.places?.accessor === accessor ? proof.places : undefined
  const places = ours ?? findTokenPlaces(accessor, call.parameters.role, jwt)
  if (!call.fetched.has(places.config)) await call.fetched.read(keysOfLogin(call.ports, places, jwt))
  const [config, issuer] = await call.fetched.read([places.config, places.issuer])
  if (!config) return refuseUnconfigured()
  const fault = findTokenFault(jwt, config.data, call.now) ?? findIssuerFault(jwt, config.data, issuer?.data)
  if (fault) throwLoginRefusal(fault, describeToken(jwt, false))
  return { jwt, places, guess, config: config.data, issuer }
}

/** Refuses a login by token at a mount without `config/jwt`, or without a mount. */
export const refuseUnconfigured = (): never =>
  throwLoginRefusal(createRefusal('jwt-not-configured', 'jwt logins are not configured'))

/**
 * Finds the keys of the token's issuer: the stored keys, or keys that are fetched now because the issuer is not
 * stored, the stored keys are too old, or the token names an unknown key. AWS may have replaced a key under its ID, so
 * keys older than an hour that do not verify the token are fetched too.
 * @throws ApiError if the keys could not be fetched
 */
export async function findIssuerKeys(
  call: LoginCall,
  { jwt, guess, config, issuer }: TokenTrust,
  ask: AskAws,
): Promise<IssuerKeys> {
  const stored = issuer?.data
  const remembered = rememberedKeys(call.ports, jwt.issuer)
  const age = stored ? call.now - stored.fetchedAt : 0
  const isStale = age > config.maxKeyAge * 1000
  const judged = stored && !isStale ? judgeToken(jwt, stored.keys, guess) : undefined
  const kept = stored && !isStale ? { keys: stored.keys, judged } : undefined
  if (kept && judged && (judged.token || age < REFRESH_AGE_MS)) return kept
  if (remembered?.kind === 'keys' && (!stored || remembered.at > stored.fetchedAt))
    return { keys: remembered.keys, fetched: remembered }
  // a set that was fetched less than a minute ago is not fetched again, unless the stored keys are too old
  if (kept && (judged ? remembered : remembered?.kind === 'keys')) return kept
  const result =
    remembered && remembered.kind !== 'keys'
      ? remembered
      : await ask({
          key: JSON.stringify(['issuer keys', jwt.issuer]),
          ask: () => fetchWithinBudget(call, jwt.issuer, stored !== undefined),
        })
  if (result.kind === 'keys') return { keys: result.keys, fetched: result }
  if (kept && judged) return kept
  if (isStale) throw reportStaleKeys(call, jwt)
  if (result.kind === 'unknown') throwLoginRefusal(untrustedIssuer('jwt-issuer'), describeToken(jwt, false))
  throw unreachableKeysError(jwt.issuer, result.kind)
}

function reportStaleKeys({ ports }: LoginCall, jwt: ParsedJwt): ApiError {
  ports.log.error('the keys of an issuer are too old', { issuer: jwt.issuer.id }, { IssuerFaults: 1 })
  return new ApiError('busy', 'the keys of the issuer are too old', {
    retryAfter: 5,
    reason: { why: 'jwt-keys-stale', service: 'oidc', issuer: jwt.issuer.id },
  })
}

/** Verifies the signature of a token, and whom the token speaks for. @throws ApiError */
export function verifyBearer(
  { ports }: Pick<LoginCall, 'ports'>,
  { jwt, guess, config, issuer }: TokenTrust,
  { keys, judged = judgeToken(jwt, keys, guess) }: IssuerKeys,
): JwtBearer {
  const { key, token } = requireSignature(jwt, judged)
  rememberVerifyingKey(ports, jwt, key)
  const bearer = identifyBearer(token, config, issuer?.data)
  if (bearer.ok) return bearer.value
  const told = describeToken(jwt, true)
  if (bearer.fault.why === 'jwt-account')
    ports.log.error('a token speaks for another account than its issuer', told, { IssuerFaults: 1 })
  return throwLoginRefusal(bearer.fault, told)
}

/** Verifies a token with the key that it names. @returns undefined if there is no such key */
function judgeToken(
  jwt: ParsedJwt,
  keys: readonly IssuerKey[],
  guess: KeyGuess | undefined,
): KeyGuess | undefined {
  const key = keys.find(({ kid, alg }) => kid === jwt.kid && alg === jwt.alg)
  return key && { key, token: verifyWithGuess(jwt, key, guess) }
}

function requireSignature(
  jwt: ParsedJwt,
  judged: KeyGuess | undefined,
): { key: IssuerKey; token: VerifiedJwt } {
  const seen = describeToken(jwt, false)
  if (!judged)
    return throwLoginRefusal(
      createRefusal('jwt-key', 'the token names a key that its issuer does not publish'),
      seen,
    )
  const { key, token } = judged
  if (token) return { key, token }
  return throwLoginRefusal(createRefusal('jwt-signature', 'the signature of the token is not valid'), seen)
}

export interface GatheredJwtFacts {
  facts: JwtFacts
  alias: Item<'alias'> | undefined
}

/** Reads the role and the alias of a verified bearer. @throws ApiError if the role does not exist */
export async function gatherJwtFacts(
  call: LoginCall,
  bearer: JwtBearer,
  { config, places }: TokenTrust,
): Promise<GatheredJwtFacts> {
  const { token, claims } = bearer
  const { accessor, roleName } = places
  const { singleUse } = config
  const [identityItem, role, spent] = await call.fetched.read([
    places.identity,
    places.role,
    ...(singleUse ? [places.spent] : []),
  ])
  if (!role) throw unknownRoleError(roleName)
  const identity = identityItem?.data ?? defaultIdentityConfig
  rememberKeyHint(call.ports, keyHintName.aliasKind(accessor, 'jwt'), jwtAliasOf(identity))
  rememberKeyHint(call.ports, keyHintName.singleUse(accessor), String(singleUse))
  const aliasName = jwtAliasName(identity, { sub: token.sub, claims, role: role.data })
  const [alias] =
    aliasName === '' ? [undefined] : await call.fetched.read([key('alias', accessor, aliasName)])
  const facts: JwtFacts = {
    type: 'jwt',
    roleName,
    role: role.data,
    source: call.request.source,
    aliasName,
    bearer,
    config,
    identity,
    isBatch: chooseTokenType(role.data.token.type, call.mount) === 'batch',
    spent: spent !== undefined,
    now: call.now,
  }
  return { facts, alias }
}

/**
 * Starts fetching keys that are older than an hour. The login does not need the result. Keys that arrived too late for
 * the login that fetched them are returned to the next login, so keys of a slow issuer are stored too.
 * @returns undefined if nothing is to be refreshed now
 */
export function startRefresh(
  { ports, now, request }: Pick<LoginCall, 'ports' | 'now' | 'request'>,
  { jwt, issuer }: TokenTrust,
): Promise<FetchedKeys> | undefined {
  // a clock that was ahead makes keys look newer than they are
  if (!issuer || Math.abs(now - issuer.data.fetchedAt) < REFRESH_AGE_MS) return undefined
  const last = rememberedKeys(ports, jwt.issuer)
  if (last) return last.kind === 'keys' && last.at > issuer.data.fetchedAt ? Promise.resolve(last) : undefined
  // only the login that starts a fetch waits for its end
  if (isFetchingOrPaused(ports, jwt.issuer)) return undefined
  return fetchIssuerKeys(ports, jwt.issuer, request.deadline).catch(() => ({ kind: 'failed', at: now }))
}
