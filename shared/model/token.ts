import type { TokenTerms } from '../tokens/terms.ts'
import { encodeBase62 } from '../values/base62.ts'
import { Secret, sha256 } from '../values/secret.ts'

/**
 * How a login identified itself: what a renewal checks again. Never shown.
 * @see docs/spec/login-ec2.md#token
 */
export interface LoginRecord {
  authType: 'ec2' | 'iam'
  role: string
  roleId: string
  account: string
  /** of the instance, or of the inferred one */
  region?: string
  instanceId?: string
  /** epoch milliseconds of the creation of the instance's access-list entry; absent on tokens that pre-date it */
  entryCreatedAt?: number
  /** seconds that the role tag allowed; 0 when it said nothing */
  tagMaxTtl?: number
  canonicalArn?: string
  /** absent on tokens that pre-date unique IDs */
  clientUserId?: string
}

/** A service token as stored, or a batch token as encrypted; of limited uses, those that remain. */
export interface Token extends TokenTerms {
  type: 'service' | 'batch'
  /** SHA-256 of the token's text, base64url; empty for a batch token */
  hash: string
  /** where it was made: `auth/cloud/login`, `auth/token/create` … */
  path: string
  displayName: string
  policies: readonly string[]
  meta: Readonly<Record<string, string>> | null
  /** accessor of the mount whose login made it: the token dies with it */
  mount?: string
  /** whose token it is; found by the alias's mount and name */
  entity?: { id: string; mount: string; alias: string }
  login?: LoginRecord
  /** token role it was made with */
  role?: string
  /** accessor of the parent; absent for an orphan */
  parent?: string
  /** epoch milliseconds of the parent's creation: who chose the same id later is not the parent */
  parentCreatedAt?: number
  /** number of ancestors, at most */
  depth: number
  renewable: boolean
  /** epoch milliseconds */
  createdAt: number
  /** seconds from creation, or from the last renewal; 0 only for a root token without end */
  ttl: number
  /** `ttl` as it was at creation */
  creationTtl: number
  /** epoch milliseconds of the last renewal */
  renewedAt?: number
}

const TOKEN_BYTES = 21
const TOKEN_LENGTH = 29
const ACCESSOR_LENGTH = 24

export const SERVICE_PREFIX = 'hvs.'
export const BATCH_PREFIX = 'hvb.'

/** Characters of a service token's text. */
export const TOKEN_TEXT_LENGTH = SERVICE_PREFIX.length + TOKEN_LENGTH

/** Characters of a token that a request may carry. @see docs/spec/transport.md#token */
export const LONGEST_TOKEN = 8192

/** A new token's text from random bytes: 168 bits, so its plain SHA-256 is a safe key. */
export const makeTokenText = (random: (length: number) => Buffer): Secret =>
  new Secret(SERVICE_PREFIX + encodeBase62(random(TOKEN_BYTES), TOKEN_LENGTH))

/** Makes HMACs under a key that lives as long as the cluster. */
interface Keyed {
  hmac(text: string): Promise<string>
}

/** What is stored of a random token's text. */
export const hashOf = (text: string): string => sha256(text).toString('base64url')

/**
 * What is stored of a token's text. A text without our prefix was chosen and may be guessed, so its hash is
 * keyed: neither the accessor nor the stored token can be compared with guesses elsewhere.
 */
export const storedHashOf = async (text: string, keyed: Keyed): Promise<string> =>
  hashOf(text.startsWith(SERVICE_PREFIX) ? text : await keyed.hmac(`chosen token id\n${text}`))

/**
 * The accessor follows from the token's hash, so that one item serves both ways of looking it up; the way
 * back is closed by SHA-256. 24 characters of base 62: 142 bits.
 */
export const accessorOf = (hash: string): string =>
  encodeBase62(sha256(`accessor:${hash}`), ACCESSOR_LENGTH).slice(-ACCESSOR_LENGTH)

/** The accessor by which a token is known; empty for a batch token. */
export const accessorOfToken = ({ hash }: Pick<Token, 'hash'>): string =>
  hash === '' ? '' : accessorOf(hash)

/** Where a token with this text would be found. */
export const accessorOfText = async (text: string, keyed: Keyed): Promise<string> =>
  accessorOf(await storedHashOf(text, keyed))

/** Epoch seconds of a moment in milliseconds, cut off. */
export const toSeconds = (ms: number): number => Math.floor(ms / 1000)

/** Milliseconds that it takes to store a token and to answer: its lifetime begins with the answer. */
const TOKEN_ANSWER_MS = 100

type Lasting = Pick<Token, 'ttl' | 'createdAt' | 'renewedAt'>

/** Returns the moment at which a token ends, epoch milliseconds; undefined for a token without end. */
export const endOf = (token: Lasting): number | undefined =>
  token.ttl === 0 ? undefined : (token.renewedAt ?? token.createdAt) + TOKEN_ANSWER_MS + token.ttl * 1000

/** Reports whether a token has ended. @param now epoch milliseconds */
export const isExpired = (token: Lasting, now: number): boolean => now >= (endOf(token) ?? Infinity)

/** Returns the epoch second from which storage may remove a token; undefined for a token without end. */
export function expirySecondOf(token: Lasting): number | undefined {
  const end = endOf(token)
  return end === undefined ? undefined : Math.ceil(end / 1000)
}

/** Whole seconds that a token has left, never more than it was given; 0 for one without end. @param now epoch milliseconds */
export const secondsLeftOf = (token: Lasting, now: number): number =>
  Math.min(token.ttl, Math.max(0, Math.floor(((endOf(token) ?? 0) - now) / 1000)))

/** What lookups and answers show of a token's entity. */
export const entityIdOf = ({ entity }: Pick<Token, 'entity'>): string => entity?.id ?? ''

/** Whether a token has all rights of the root policy. */
export const isRoot = (token: Pick<Token, 'policies'>): boolean => token.policies.includes('root')
