import { invalidRequestError } from '../api/errors.ts'
import {
  boolField,
  durationField,
  intField,
  listField,
  type ParameterField,
  textField,
} from '../api/fields.ts'
import { isPolicyName, normalisePolicySet, POLICY_NAMES_TEXT, sanitisePolicies } from '../policies/names.ts'
import { isCidr } from '../values/cidr.ts'
import type { WidenedLiteral } from '../values/widened.ts'

/** The kind of role that sets a term: a login role or a token role. */
export type TokenTermOwner = 'role' | 'token-role'

/** One token parameter: its request field, its stored form and its form in responses. */
interface Term {
  /** name of the request field */
  name: `token_${string}`
  of: readonly TokenTermOwner[]
  kind(doc: string, options: object): ParameterField<unknown>
  doc: string
  /** `neutral`: value if the parameter was not set */
  neutral: unknown
  /** Returns the stored form of a value; default: the value itself. @throws ApiError */
  store?(given: unknown): unknown
  /** Returns the form that policy rules compare; default: the value itself. */
  counts?(given: unknown): unknown
  /** Returns why a value must not be stored; undefined if the value may be stored. @param mountMax seconds */
  fault?(value: unknown, mountMax: number): string | undefined
  /** `old`: the deprecated field name, used if the current name is not sent; `store` as above */
  old?: {
    name: string
    of: readonly TokenTermOwner[]
    store?(given: unknown): unknown
    /** `always`: true if token roles show the deprecated name even if it was not used */
    always?: true
  }
  /**
   * `kept` is set if a token stores the value at minting; tells how a lookup shows the value, without the prefix
   * `token_`
   */
  kept?: 'shown' | 'shown where used'
}

const LOGINS = ['role'] as const
const BOTH = ['role', 'token-role'] as const

type TokenType = 'default' | 'service' | 'batch'

/**
 * The token parameters, by the name under which roles and tokens store them. To add a token parameter, add a row:
 * fields, defaults, merge, validation, responses and OpenAPI text follow from it. The code that mints, checks or
 * renews tokens interprets the value.
 */
const terms = {
  boundCidrs: {
    name: 'token_bound_cidrs',
    of: BOTH,
    kind: listField,
    doc: 'Networks from which tokens may be used, and from which logins are accepted',
    neutral: [] as readonly string[],
    fault: (networks: readonly string[]) =>
      networks.every(isCidr) ? undefined : 'token_bound_cidrs must hold addresses or networks',
    old: { name: 'bound_cidrs', of: ['token-role'] },
    kept: 'shown where used',
  },
  explicitMaxTtl: {
    name: 'token_explicit_max_ttl',
    of: BOTH,
    kind: durationField,
    doc: 'Hard limit of the lifetime, even if settings change later',
    neutral: 0,
    old: { name: 'explicit_max_ttl', of: ['token-role'], always: true },
    kept: 'shown',
  },
  maxTtl: {
    name: 'token_max_ttl',
    of: LOGINS,
    kind: durationField,
    doc: 'Maximum lifetime of tokens',
    neutral: 0,
    old: { name: 'max_ttl', of: LOGINS },
  },
  noDefaultPolicy: {
    name: 'token_no_default_policy',
    of: BOTH,
    kind: boolField,
    doc: 'Exclude the policy `default`',
    neutral: false,
  },
  numUses: {
    name: 'token_num_uses',
    of: BOTH,
    kind: intField,
    doc: 'Number of requests a token may make; 0: unlimited',
    neutral: 0,
    fault: (uses: number) => (uses < 0 ? 'token_num_uses must not be negative' : undefined),
    kept: 'shown',
  },
  period: {
    name: 'token_period',
    of: BOTH,
    kind: durationField,
    doc: 'Period of periodic tokens',
    neutral: 0,
    fault: (period: number, mountMax: number) =>
      period > mountMax ? `token_period must not exceed the mount’s maximum (${mountMax} s)` : undefined,
    old: { name: 'period', of: BOTH, always: true },
    kept: 'shown where used',
  },
  /** as sent, not yet sanitised */
  policies: {
    name: 'token_policies',
    of: LOGINS,
    kind: listField,
    doc: 'Policies of tokens',
    neutral: [] as readonly string[],
    counts: normalisePolicySet,
    fault: (names: readonly string[]) => {
      if (!names.every(isPolicyName)) return `token_policies: ${POLICY_NAMES_TEXT}`
      return sanitisePolicies(names).includes('root') ? 'token_policies must not contain root' : undefined
    },
    old: { name: 'policies', of: LOGINS, store: sanitisePolicies },
  },
  strictlyBindIp: {
    name: 'token_strictly_bind_ip',
    of: BOTH,
    kind: boolField,
    doc: 'Tokens may be used only from the address that requested them',
    neutral: false,
  },
  ttl: {
    name: 'token_ttl',
    of: LOGINS,
    kind: durationField,
    doc: 'Lifetime of tokens, extended by each renewal',
    neutral: 0,
    old: { name: 'ttl', of: LOGINS },
  },
  type: {
    name: 'token_type',
    of: BOTH,
    kind: textField,
    doc: '`service`, `batch` or `default` (the mount’s type)',
    neutral: 'default' as TokenType,
    counts: (type: string) => type || 'default',
    store: tokenType,
  },
} as const satisfies Record<string, Term>

function tokenType(given: string): TokenType {
  if (given === '' || given === 'default') return 'default'
  if (given === 'service' || given === 'batch') return given
  throw invalidRequestError('token_type must be service, batch or default')
}

type Terms = typeof terms
export type TokenTermName = keyof Terms
type Value<K extends TokenTermName> = WidenedLiteral<Terms[K]['neutral']>
type With<P> = { [K in TokenTermName]: Terms[K] extends P ? K : never }[TokenTermName]

/** The token parameters of a role. Durations are in seconds; 0 and empty lists mean unset. */
export type TokenParameters = { [K in TokenTermName]: Value<K> } & {
  /** `legacy`: the deprecated names, stored only if they were used */
  legacy: { [K in With<{ old: object }>]?: Value<K> }
}

/** The parameters that a token stores at minting. */
export type TokenTerms = { [K in With<{ kept: string }>]: Value<K> }

/** The names of the request fields, current and deprecated. */
export type TokenTermFieldName = Terms[TokenTermName]['name'] | Terms[With<{ old: object }>]['old']['name']

export const tokenTermRows = Object.entries(terms) as [TokenTermName, Term][]
