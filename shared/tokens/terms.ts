import { invalid } from '../api/errors.ts'
import { bool, duration, type Field, int, list, text } from '../api/fields.ts'
import { isPolicyName, POLICY_NAMES, policySet, sanitisePolicies } from '../policies/names.ts'
import { isCidr } from '../values/cidr.ts'
import type { Widened } from '../values/widened.ts'

/** Who says terms: roles of logins, and token roles. */
export type TermOwner = 'role' | 'token-role'

/** One term of tokens: its field in requests, what is stored of it, and how it reads back. */
interface Term {
  /** the field of those who take it */
  name: `token_${string}`
  of: readonly TermOwner[]
  kind(doc: string, options: object): Field<unknown>
  doc: string
  /** what holds where nothing was ever said */
  neutral: unknown
  /** what is stored of a supplied value; absent: the value. @throws ApiError */
  store?(given: unknown): unknown
  /** what rules about parameters compare; absent: the value */
  counts?(given: unknown): unknown
  /** why a value may not be stored, as a message. @param mountMax seconds */
  fault?(value: unknown, mountMax: number): string | undefined
  /** the deprecated name, which counts where the current one is not given; `store` as above */
  old?: {
    name: string
    of: readonly TermOwner[]
    store?(given: unknown): unknown
    /** token roles answer it also where it was not used */
    always?: true
  }
  /** a token keeps it as it was at minting; how a lookup shows it, under the name without `token_` */
  kept?: 'shown' | 'shown where used'
}

const LOGINS = ['role'] as const
const BOTH = ['role', 'token-role'] as const

type TokenType = 'default' | 'service' | 'batch'

/**
 * The terms of tokens, by the name under which roles (and tokens that keep them) store them. Adding one is one row:
 * fields, defaults, merging, checks of the value, read-back and the interface's description follow from it. What
 * it means is for whoever mints, checks or renews tokens.
 */
const terms = {
  boundCidrs: {
    name: 'token_bound_cidrs',
    of: BOTH,
    kind: list,
    doc: 'Networks from which tokens may be used, and from which logins are accepted',
    neutral: [] as readonly string[],
    fault: (networks: readonly string[]) =>
      networks.every(isCidr) ? undefined : 'token_bound_cidrs: not an address or network',
    old: { name: 'bound_cidrs', of: ['token-role'] },
    kept: 'shown where used',
  },
  explicitMaxTtl: {
    name: 'token_explicit_max_ttl',
    of: BOTH,
    kind: duration,
    doc: 'Hard limit of the lifetime, whatever changes later',
    neutral: 0,
    old: { name: 'explicit_max_ttl', of: ['token-role'], always: true },
    kept: 'shown',
  },
  maxTtl: {
    name: 'token_max_ttl',
    of: LOGINS,
    kind: duration,
    doc: 'Greatest lifetime of tokens',
    neutral: 0,
    old: { name: 'max_ttl', of: LOGINS },
  },
  noDefaultPolicy: {
    name: 'token_no_default_policy',
    of: BOTH,
    kind: bool,
    doc: 'Leave the policy `default` out',
    neutral: false,
  },
  numUses: {
    name: 'token_num_uses',
    of: BOTH,
    kind: int,
    doc: 'How many requests a token may make; 0: any number',
    neutral: 0,
    fault: (uses: number) => (uses < 0 ? 'token_num_uses must not be negative' : undefined),
    kept: 'shown',
  },
  period: {
    name: 'token_period',
    of: BOTH,
    kind: duration,
    doc: 'Period of periodic tokens',
    neutral: 0,
    fault: (period: number, mountMax: number) =>
      period > mountMax ? `token_period must not exceed the mount’s maximum (${mountMax} s)` : undefined,
    old: { name: 'period', of: BOTH, always: true },
    kept: 'shown where used',
  },
  /** as given, not yet sanitised */
  policies: {
    name: 'token_policies',
    of: LOGINS,
    kind: list,
    doc: 'Policies of tokens',
    neutral: [] as readonly string[],
    counts: policySet,
    fault: (names: readonly string[]) => {
      if (!names.every(isPolicyName)) return `token_policies: ${POLICY_NAMES}`
      return sanitisePolicies(names).includes('root') ? 'token_policies must not contain root' : undefined
    },
    old: { name: 'policies', of: LOGINS, store: sanitisePolicies },
  },
  strictlyBindIp: {
    name: 'token_strictly_bind_ip',
    of: BOTH,
    kind: bool,
    doc: 'Tokens may be used only from the address that asked for them',
    neutral: false,
  },
  ttl: {
    name: 'token_ttl',
    of: LOGINS,
    kind: duration,
    doc: 'Lifetime of tokens, extended by each renewal',
    neutral: 0,
    old: { name: 'ttl', of: LOGINS },
  },
  type: {
    name: 'token_type',
    of: BOTH,
    kind: text,
    doc: '`service`, `batch` or `default` (what the mount says)',
    neutral: 'default' as TokenType,
    counts: (type: string) => type || 'default',
    store: tokenType,
  },
} as const satisfies Record<string, Term>

function tokenType(given: string): TokenType {
  if (given === '' || given === 'default') return 'default'
  if (given === 'service' || given === 'batch') return given
  throw invalid('token_type must be service, batch or default')
}

type Terms = typeof terms
export type TermName = keyof Terms
type Value<K extends TermName> = Widened<Terms[K]['neutral']>
type With<P> = { [K in TermName]: Terms[K] extends P ? K : never }[TermName]

/** What a role says about the tokens it gives. Seconds; 0 and empty lists say nothing. */
export type TokenParameters = { [K in TermName]: Value<K> } & {
  /** the deprecated spellings, kept only where they were used */
  legacy: { [K in With<{ old: object }>]?: Value<K> }
}

/** What a token keeps of the terms that it was minted on. */
export type TokenTerms = { [K in With<{ kept: string }>]: Value<K> }

/** The fields, current and deprecated, of those who take terms. */
export type TermFieldName = Terms[TermName]['name'] | Terms[With<{ old: object }>]['old']['name']

export const termRows = Object.entries(terms) as [TermName, Term][]
