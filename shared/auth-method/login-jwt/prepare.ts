import type { EarlyCall } from '../../api/call.ts'
import { type ParsedJwt, type VerifiedJwt, verifyJwt } from '../../identity-proof/jwt.ts'
import type { IssuerKey } from '../../model/jwt.ts'
import type { Ports } from '../../ports.ts'
import { type Key, key } from '../../storage/kinds.ts'
import { parseIamEntity } from '../../values/arn.ts'
import { lowerAscii } from '../../values/names.ts'
import { sha256 } from '../../values/secret.ts'
import type { loginFields } from '../login/fields.ts'
import { keyHintName } from '../login/hints.ts'
import { issuerMemory } from './fetch-keys.ts'

/** A parsed token. Only a key of its issuer can verify it. `places` and `guess` are absent outside the login's endpoint. */
export interface JwtProof {
  type: 'jwt'
  jwt: ParsedJwt
  places?: TokenPlaces
  guess?: KeyGuess | undefined
}

/** The places of the items that decide about a token at a mount. */
export interface TokenPlaces {
  /** accessor of the mount */
  accessor: string
  roleName: string
  config: Key<'jwt-config'>
  issuer: Key<'issuer'>
  identity: Key<'identity-config'>
  role: Key<'role'>
  spent: Key<'spent'>
}

/**
 * A key that verified an earlier token of the issuer, and what it says about this token. The guess counts only if the
 * issuer still has this key.
 */
export interface KeyGuess {
  key: IssuerKey
  /** absent: the key does not verify the token */
  token: VerifiedJwt | undefined
}

export function findTokenPlaces(accessor: string, role: string | undefined, jwt: ParsedJwt): TokenPlaces {
  const roleName = role || lowerAscii(parseIamEntity(jwt.sub)?.name ?? '')
  const use = sha256(`${jwt.issuer.id}\n${jwt.jti}`).toString('base64url')
  return {
    accessor,
    roleName,
    config: key('jwt-config', accessor),
    issuer: key('issuer', accessor, jwt.issuer.id),
    identity: key('identity-config', accessor),
    role: key('role', accessor, roleName),
    spent: key('spent', accessor, use),
  }
}

/** Returns the keys of everything that a login by token reads, as far as they are known or can be guessed. */
export function keysOfLogin(
  { keyHints }: Pick<Ports, 'keyHints'>,
  places: TokenPlaces,
  jwt: ParsedJwt,
): Key[] {
  const { accessor, config, issuer, identity, role, spent } = places
  const hasUsualAlias = keyHints.get(keyHintName.aliasKind(accessor, 'jwt')) === 'full_arn'
  const isReusable = keyHints.get(keyHintName.singleUse(accessor)) === 'false'
  return [
    config,
    issuer,
    identity,
    role,
    ...(isReusable ? [] : [spent]),
    ...(hasUsualAlias ? [key('alias', accessor, jwt.sub)] : []),
  ]
}

/**
 * Returns the keys that the first read of a login needs. A token that a key in memory does not verify is probably
 * forged, so the first read contains only what refuses it.
 */
export function prepareJwtLogin(
  { parameters, ports }: EarlyCall<typeof loginFields>,
  accessor: string,
  jwt: ParsedJwt,
): { keys: Key[]; prepared: JwtProof } {
  const places = findTokenPlaces(accessor, parameters.role, jwt)
  const guess = guessKey(ports, jwt)
  const isDoubtful = guess && !guess.token
  const keys = isDoubtful ? [places.config, places.issuer] : keysOfLogin(ports, places, jwt)
  return { keys, prepared: { type: 'jwt', jwt, places, guess } }
}

const nameOf = ({ issuer, kid }: ParsedJwt): string => `${issuer.id} ${kid}`

function guessKey(ports: Pick<Ports, 'memory'>, jwt: ParsedJwt): KeyGuess | undefined {
  const known = issuerMemory(ports).verifying.get(nameOf(jwt))
  return known && { key: known, token: verifyJwt(jwt, known) }
}

const MOST_KEYS = 1000

/** Remembers a key that verified a token. */
export function rememberVerifyingKey(
  ports: Pick<Ports, 'memory'>,
  jwt: ParsedJwt,
  verifying: IssuerKey,
): void {
  const { verifying: keys } = issuerMemory(ports)
  if (keys.size >= MOST_KEYS) keys.clear()
  keys.set(nameOf(jwt), verifying)
}

/** Verifies a token with a key of its issuer, unless the same key has judged the token before the first read. */
export const verifyWithGuess = (jwt: ParsedJwt, key: IssuerKey, guess: KeyGuess | undefined) =>
  guess && isSameKey(guess.key, key) ? guess.token : verifyJwt(jwt, key)

const isSameKey = (one: IssuerKey, other: IssuerKey): boolean =>
  one.alg === other.alg && one.n === other.n && one.x === other.x && one.y === other.y
