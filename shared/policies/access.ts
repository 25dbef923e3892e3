import { lowerPathSegment, type PathSpelling, pathSpellingOf } from '../api/params.ts'
import type { Acl } from '../model/acl.ts'
import type { Capability, PolicyRule } from '../model/policy.ts'
import { lowerAscii } from '../values/names.ts'
import { mergeParameterRules, parametersPassRule, type RequestParameter } from './parameters.ts'
import { findCoveringRules, type RuleLookup } from './tree.ts'

/** One access that a caller requests. */
export interface AccessRequest {
  /** without leading slash, as sent */
  path: string
  capability: Capability
  sudo?: boolean
  /** body parameters; absent if the rule's parameter constraints do not apply */
  parameters?: readonly RequestParameter[]
  /** TTL of the requested response wrapping, seconds */
  wrapTtl?: number
}

/** Rights that permit nothing. */
export const noAccessAcl: Acl = { root: false, rules: [] }

/** Merges the rules of several policies. Rules with the same path add up, and `deny` wins. */
export const unitePolicyRules = (policies: readonly (readonly PolicyRule[])[]): readonly PolicyRule[] =>
  united(policies.flat(), rule => rule.path)

/** Merges the rules whose paths map to the same text. */
const united = (rules: readonly PolicyRule[], pathOf: (rule: PolicyRule) => string): PolicyRule[] =>
  [...Map.groupBy(rules, pathOf)].map(([path, same]) => {
    const [only] = same
    return same.length === 1 && only ? { ...only, path } : merged(path, same)
  })

function merged(path: string, rules: readonly PolicyRule[]): PolicyRule {
  const capabilities = new Set(rules.flatMap(rule => [...rule.capabilities]))
  return {
    path,
    capabilities: capabilities.has('deny') ? new Set(['deny']) : capabilities,
    allowed: mergeParameterRules(rules.map(rule => rule.allowed)),
    denied: mergeParameterRules(rules.map(rule => rule.denied)),
    required: [...new Set(rules.flatMap(rule => rule.required))],
    minWrapping: least(rules.map(rule => rule.minWrapping)),
    maxWrapping: least(rules.map(rule => rule.maxWrapping)),
  }
}

/** Returns the smallest bound; 0 means unlimited. */
const least = (bounds: readonly number[]): number =>
  bounds.filter(bound => bound > 0).reduce((a, b) => (a > 0 && a < b ? a : b), 0)

/** Reports whether the rights permit an access. @see docs/spec/policies.md#which-rule-decides */
export function permitsRequest(access: Acl, attempt: AccessRequest): boolean {
  if (access.root) return true
  const govern = attempt.capability === 'list' ? governingList : governing
  const rule = govern(access.rules, attempt.path)
  if (!rule || rule.capabilities.has('deny') || !rule.capabilities.has(attempt.capability)) return false
  if (attempt.sudo && !rule.capabilities.has('sudo')) return false
  return parametersAllowed(rule, attempt) && wrappingPasses(rule, attempt.wrapTtl ?? 0)
}

/** Returns the sorted capabilities on a path, as they are enforced; `["deny"]` if the caller has none. */
export function capabilitiesOnPath(access: Acl, path: string): Capability[] {
  if (access.root) return ['root' as Capability]
  const others = governing(access.rules, path)?.capabilities ?? []
  const listing = governingList(access.rules, path)?.capabilities
  const found = new Set<Capability>([...others].filter(one => one !== 'list'))
  if (listing?.has('list')) for (const one of ['list', 'sudo'] as const) if (listing.has(one)) found.add(one)
  return found.size === 0 ? ['deny'] : [...found].sort()
}

/** Returns the rule that decides about everything but listings: an exact rule, or the best pattern. */
function governing(rules: readonly PolicyRule[], path: string): PolicyRule | undefined {
  const spelling = pathSpellingOf(path)
  const spellings = spelling.slashless ? [spelling.path, `${spelling.path}/`] : [spelling.path]
  return strongest(
    rulesAbout(
      rules,
      spellings.map(one => ({ ...spelling, path: one })),
      spelling,
    ),
  )
}

/**
 * Returns the rule that decides about a listing. A listing's path may end with a slash or not, so rules for both spellings count, and
 * those with the slash win. A governing deny of either spelling wins (GHSA-xp3c-3jw3-4vcr). A deny that covers both spellings
 * yields on both to an exact rule, or to a better rule for the spelling with the slash.
 */
function governingList(rules: readonly PolicyRule[], path: string): PolicyRule | undefined {
  const { path: _, ...spelling } = pathSpellingOf(path)
  const bare = path.replace(/\/$/, '')
  const rulesOn = (one: string) => rulesAbout(rules, [{ ...spelling, path: one, emptyLast: true }], spelling)
  const [slashed, plain] = [rulesOn(`${bare}/`), rulesOn(bare)]
  // after a deny that yields is removed, another deny may remain that does not yield
  const without = (some: readonly PolicyRule[], givesWay: (denial: PolicyRule) => boolean) =>
    strongest(some.filter(rule => !(isDeny(rule) && givesWay(rule))))
  const ofSlashed = without(slashed, denial => covers(plain, denial) && plain.some(isExact))
  if (isDeny(ofSlashed)) return ofSlashed
  const ofPlain = without(plain, denial => covers(slashed, denial))
  if (isDeny(ofPlain)) return ofPlain
  return slashed.find(isExact) ?? strongest([...plain, ...slashed])
}

const isDeny = (rule: PolicyRule | undefined): rule is PolicyRule => rule?.capabilities.has('deny') ?? false

const covers = (rules: readonly PolicyRule[], { path }: PolicyRule): boolean =>
  rules.some(rule => rule.path === path)

/**
 * Returns the rules that cover one of the paths. Rules match as written; deny rules match in any ASCII case (CVE-2026-93335). A deny
 * wins over a rule whose path differs only in case. In other cases the better rule decides.
 */
function rulesAbout(
  rules: readonly PolicyRule[],
  paths: readonly RuleLookup[],
  spelling: Omit<PathSpelling, 'path'>,
): PolicyRule[] {
  const among = (some: readonly PolicyRule[], lookups: readonly RuleLookup[]) =>
    coinciding(
      lookups.flatMap(one => findCoveringRules(some, one)),
      spelling,
    )
  const typed = among(rules, paths)
  const denying = denialsOf(rules)
  if (denying.length === 0) return typed
  const closing = among(
    denying,
    paths.map(one => ({ ...one, path: lowerAscii(one.path) })),
  )
  const closed = new Set(closing.map(rule => rule.path))
  return [...typed.filter(rule => !closed.has(lowerAscii(rule.path))), ...closing]
}

const denials = new WeakMap<readonly PolicyRule[], readonly PolicyRule[]>()

/** Returns the deny rules with lower-case paths, merged by path. */
function denialsOf(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const known = denials.get(rules)
  if (known) return known
  const found = united(rules.filter(isDeny), rule => lowerAscii(rule.path))
  denials.set(rules, found)
  return found
}

/** Merges rules whose paths are equivalent. */
const coinciding = (rules: readonly PolicyRule[], spelling: Omit<PathSpelling, 'path'>): PolicyRule[] =>
  united(rules, rule => meaningOf(rule.path, spelling))

/** Returns the canonical form of a rule's path if the path has several spellings. */
function meaningOf(path: string, { caseless, slashless }: Omit<PathSpelling, 'path'>): string {
  if (slashless) return path.replace(/(?<=.)\/$/, '')
  return caseless === undefined ? path : lowerPathSegment(path, caseless)
}

const isExact = ({ path }: PolicyRule): boolean => !path.endsWith('*') && !path.split('/').includes('+')

/** Returns the exact rule, or the pattern that wins over all others. */
const strongest = (rules: readonly PolicyRule[]): PolicyRule | undefined =>
  rules.find(isExact) ??
  rules.reduce<PolicyRule | undefined>((a, b) => (a && !yields(a.path, b.path) ? a : b), undefined)

/** Reports whether pattern `a` yields to pattern `b`. @see docs/spec/policies.md#which-rule-decides */
function yields(a: string, b: string): boolean {
  const first = (path: string) =>
    Math.min(...['+', '*'].map(mark => (path.includes(mark) ? path.indexOf(mark) : path.length)))
  if (first(a) !== first(b)) return first(a) < first(b)
  if (a.endsWith('*') !== b.endsWith('*')) return a.endsWith('*')
  const segments = (path: string) => path.split('/').filter(part => part === '+').length
  if (segments(a) !== segments(b)) return segments(a) > segments(b)
  if (a.length !== b.length) return a.length < b.length
  return a < b
}

const CHECKED: readonly Capability[] = ['create', 'update', 'patch']

const parametersAllowed = (rule: PolicyRule, { capability, parameters }: AccessRequest): boolean =>
  !parameters || !CHECKED.includes(capability) || parametersPassRule(rule, parameters)

const wrappingPasses = ({ minWrapping, maxWrapping }: PolicyRule, ttl: number): boolean =>
  (minWrapping === 0 || ttl >= minWrapping) && (maxWrapping === 0 || (ttl > 0 && ttl <= maxWrapping))
