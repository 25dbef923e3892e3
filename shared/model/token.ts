import type { TokenTerms } from '../tokens/terms.ts'
import { encodeBase62 } from '../values/base62.ts'
import { Secret, sha256 } from '../values/secret.ts'
import type { LoginClaims } from './jwt.ts'
import type { LoginType } from './role.ts'

/**
 * The identity of a login. A renewal checks the identity again. No response shows the identity of a login.
 * @see docs/spec/login-ec2.md#token
 */
export interface LoginRecord {
  authType: LoginType
  role: string
  roleId: string
  account: string
  /** region of the instance, or of the inferred instance */
  region?: string
  instanceId?: string
  /**
   * epoch milliseconds of the creation of the instance's access-list entry; absent on tokens that are older than the
   * field
   */
  entryCreatedAt?: number
  /** seconds that the role tag allowed; 0: the tag set no limit */
  tagMaxTtl?: number
  canonicalArn?: string
  /** `caller`: kind of the caller of a login of type `iam`; absent: a user or a session of a role */
  caller?: 'instance'
  /** `clientUserId` is absent on tokens that are older than unique IDs */
  clientUserId?: string
  /** `claims` of the token of a login of type `jwt` */
  claims?: LoginClaims
}

/**
 * The instance with whose end a token ends, by the mount whose login made the token. Child tokens have the mark of
 * their parent. Invariant: the mount has an item `instance` until the token of the login expires.
 */
export interface TokenInstance {
  /** accessor */
  mount: string
  /** 12 digits */
  account: string
  id: string
}

/** A service token as stored, or a batch token as encrypted. `numUses` is the number of remaining uses. */
export interface Token extends TokenTerms {
  type: 'service' | 'batch'
  /** SHA-256 of the token's text, base64url; empty for a batch token */
  hash: string
  /** `path` of the request that made the token: `auth/cloud/login`, `auth/token/create` … */
  path: string
  displayName: string
  policies: readonly string[]
  meta: Readonly<Record<string, string>> | null
  /** `mount`: accessor of the mount whose login made the token; the token is revoked with the mount */
  mount?: string
  /** `entity` of the token, found by the alias's mount and name */
  entity?: { id: string; mount: string; alias: string }
  login?: LoginRecord
  /** `instance` with whose end the token ends; absent: the token does not depend on an instance */
  instance?: TokenInstance
  /** `role`: name of the token role with which the token was made */
  role?: string
  /** `parent`: accessor of the parent; absent for an orphan */
  parent?: string
  /** epoch milliseconds of the parent's creation; a later token with the same chosen id is not the parent */
  parentCreatedAt?: number
  /** `depth`: maximum number of the token's ancestors */
  depth: number
  renewable: boolean
  /** epoch milliseconds */
  createdAt: number
  /** `ttl`: seconds from creation, or from the last renewal; 0: a root token without end */
  ttl: number
  /** `creationTtl`: `ttl` at the token's creation */
  creationTtl: number
  /** epoch milliseconds of the last renewal */
  renewedAt?: number
}

const TOKEN_BYTES = 21
const TOKEN_LENGTH = 29
const ACCESSOR_LENGTH = 24

export const SERVICE_TOKEN_PREFIX = 'hvs.'
export const BATCH_TOKEN_PREFIX = 'hvb.'

/** The number of characters of a service token. */
export const TOKEN_TEXT_LENGTH = SERVICE_TOKEN_PREFIX.length + TOKEN_LENGTH

/**
 * The maximum number of characters of a token in a request.
 * @see docs/spec/transport.md#token
 */
export const MAX_TOKEN_LENGTH = 8192

/**
 * Creates the text of a token from 168 random bits. These random bits are enough to use the token's plain SHA-256
 * as a key.
 */
export const generateServiceTokenText = (random: (length: number) => Buffer): Secret =>
  new Secret(SERVICE_TOKEN_PREFIX + encodeBase62(random(TOKEN_BYTES), TOKEN_LENGTH))

/** Makes HMACs with a key that never changes during the life of the cluster. */
interface Keyed {
  hmac(text: string): Promise<string>
}

/** Returns the stored hash of a random token. */
export const tokenHashOf = (text: string): string => sha256(text).toString('base64url')

/**
 * Returns the stored hash of a token. A client chose a text without this service's prefix, so the text may be
 * guessed and its hash is keyed. Without the key, nobody can compare the accessor or the stored token with guesses.
 */
export const storedTokenHashOf = async (text: string, keyed: Keyed): Promise<string> =>
  tokenHashOf(text.startsWith(SERVICE_TOKEN_PREFIX) ? text : await keyed.hmac(`chosen token id\n${text}`))

/**
 * Returns the accessor of a token from its hash. Because of this, one item is found by token and by accessor, and
 * SHA-256 hides the token from holders of the accessor. 24 characters of base 62 are 142 bits.
 */
export const accessorOfHash = (hash: string): string =>
  encodeBase62(sha256(`accessor:${hash}`), ACCESSOR_LENGTH).slice(-ACCESSOR_LENGTH)

/** Returns the accessor of a token; empty for a batch token. */
export const accessorOfToken = ({ hash }: Pick<Token, 'hash'>): string =>
  hash === '' ? '' : accessorOfHash(hash)

/** Returns the accessor that a token with this text would have. */
export const accessorOfTokenText = async (text: string, keyed: Keyed): Promise<string> =>
  accessorOfHash(await storedTokenHashOf(text, keyed))

/** Converts milliseconds to whole epoch seconds, rounded down. */
export const toSeconds = (ms: number): number => Math.floor(ms / 1000)

/** Milliseconds that storing a token and answering take. The token's lifetime begins with the answer. */
const TOKEN_ANSWER_MS = 100

type Lasting = Pick<Token, 'ttl' | 'createdAt' | 'renewedAt'>

/** Returns the moment at which a token ends, epoch milliseconds; undefined for a token without end. */
export const tokenEndTime = (token: Lasting): number | undefined =>
  token.ttl === 0 ? undefined : (token.renewedAt ?? token.createdAt) + TOKEN_ANSWER_MS + token.ttl * 1000

/** Reports whether a token has ended. @param now epoch milliseconds */
export const isTokenExpired = (token: Lasting, now: number): boolean =>
  now >= (tokenEndTime(token) ?? Infinity)

/** Returns the epoch second from which storage may remove a token; undefined for a token without end. */
export function tokenExpirySecond(token: Lasting): number | undefined {
  const end = tokenEndTime(token)
  return end === undefined ? undefined : Math.ceil(end / 1000)
}

/**
 * Returns the whole seconds that a token has left, at most its full lifetime; 0 for a token without end.
 * @param now epoch milliseconds
 */
export const tokenSecondsLeft = (token: Lasting, now: number): number =>
  Math.min(token.ttl, Math.max(0, Math.floor(((tokenEndTime(token) ?? 0) - now) / 1000)))

/** Returns the entity id that lookups and answers show. */
export const tokenEntityId = ({ entity }: Pick<Token, 'entity'>): string => entity?.id ?? ''

/** Reports whether a token has the root policy. */
export const isRootToken = (token: Pick<Token, 'policies'>): boolean => token.policies.includes('root')
