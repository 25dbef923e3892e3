import { lowerSegment, type Spelling, spellingOf } from '../api/params.ts'
import type { Acl } from '../model/acl.ts'
import type { Capability, Rule } from '../model/policy.ts'
import { lowerAscii } from '../values/names.ts'
import { mergedParameters, type Parameter, parametersPass } from './parameters.ts'
import { covering, type Lookup } from './tree.ts'

/** One thing a caller wants to do. */
export interface AccessRequest {
  /** without leading slash, as typed */
  path: string
  capability: Capability
  sudo?: boolean
  /** body parameters; absent where parameters do not count */
  parameters?: readonly Parameter[]
  /** seconds of a requested response wrapping */
  wrapTtl?: number
}

/** Nothing at all. */
export const noAccess: Acl = { root: false, rules: [] }

/** Unites the rules of several policies: the same path text adds up, `deny` wins. */
export const uniteRules = (policies: readonly (readonly Rule[])[]): readonly Rule[] =>
  united(policies.flat(), rule => rule.path)

/** One rule for each path that the rules' paths come to. */
const united = (rules: readonly Rule[], pathOf: (rule: Rule) => string): Rule[] =>
  [...Map.groupBy(rules, pathOf)].map(([path, same]) => {
    const [only] = same
    return same.length === 1 && only ? { ...only, path } : merged(path, same)
  })

function merged(path: string, rules: readonly Rule[]): Rule {
  const capabilities = new Set(rules.flatMap(rule => [...rule.capabilities]))
  return {
    path,
    capabilities: capabilities.has('deny') ? new Set(['deny']) : capabilities,
    allowed: mergedParameters(rules.map(rule => rule.allowed)),
    denied: mergedParameters(rules.map(rule => rule.denied)),
    required: [...new Set(rules.flatMap(rule => rule.required))],
    minWrapping: least(rules.map(rule => rule.minWrapping)),
    maxWrapping: least(rules.map(rule => rule.maxWrapping)),
  }
}

/** The smallest bound; 0 is none. */
const least = (bounds: readonly number[]): number =>
  bounds.filter(bound => bound > 0).reduce((a, b) => (a > 0 && a < b ? a : b), 0)

/** Whether the caller may do it. @see docs/spec/policies.md#which-rule-decides */
export function permits(access: Acl, attempt: AccessRequest): boolean {
  if (access.root) return true
  const govern = attempt.capability === 'list' ? governingList : governing
  const rule = govern(access.rules, attempt.path)
  if (!rule || rule.capabilities.has('deny') || !rule.capabilities.has(attempt.capability)) return false
  if (attempt.sudo && !rule.capabilities.has('sudo')) return false
  return parametersAllowed(rule, attempt) && wrappingPasses(rule, attempt.wrapTtl ?? 0)
}

/** The capabilities on a path, sorted: those that are enforced on it; `["deny"]` where there are none. */
export function capabilitiesOn(access: Acl, path: string): Capability[] {
  if (access.root) return ['root' as Capability]
  const others = governing(access.rules, path)?.capabilities ?? []
  const listing = governingList(access.rules, path)?.capabilities
  const found = new Set<Capability>([...others].filter(one => one !== 'list'))
  if (listing?.has('list')) for (const one of ['list', 'sudo'] as const) if (listing.has(one)) found.add(one)
  return found.size === 0 ? ['deny'] : [...found].sort()
}

/** The one rule that decides about everything but listings: an exact one, or the best pattern. */
function governing(rules: readonly Rule[], path: string): Rule | undefined {
  const spelling = spellingOf(path)
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
 * The one rule that decides about a listing, which may be written with or without its trailing slash: rules about
 * both spellings count, the one with the slash first. A deny that governs either wins (GHSA-xp3c-3jw3-4vcr). One that
 * covers both gives way on both: to an exact rule, or to a better one for the spelling with the slash.
 */
function governingList(rules: readonly Rule[], path: string): Rule | undefined {
  const { path: _, ...spelling } = spellingOf(path)
  const bare = path.replace(/\/$/, '')
  const rulesOn = (one: string) => rulesAbout(rules, [{ ...spelling, path: one, emptyLast: true }], spelling)
  const [slashed, plain] = [rulesOn(`${bare}/`), rulesOn(bare)]
  // behind a denial that gives way another one may stand that does not
  const without = (some: readonly Rule[], givesWay: (denial: Rule) => boolean) =>
    strongest(some.filter(rule => !(isDeny(rule) && givesWay(rule))))
  const ofSlashed = without(slashed, denial => covers(plain, denial) && plain.some(isExact))
  if (isDeny(ofSlashed)) return ofSlashed
  const ofPlain = without(plain, denial => covers(slashed, denial))
  if (isDeny(ofPlain)) return ofPlain
  return slashed.find(isExact) ?? strongest([...plain, ...slashed])
}

const isDeny = (rule: Rule | undefined): rule is Rule => rule?.capabilities.has('deny') ?? false

const covers = (rules: readonly Rule[], { path }: Rule): boolean => rules.some(rule => rule.path === path)

/**
 * The rules that cover one of these paths: all as they are typed, and denials in whatever ASCII case (CVE-2026-93335).
 * A denial wins over a rule whose path differs from its own in case alone; else the better of the two decides.
 */
function rulesAbout(
  rules: readonly Rule[],
  paths: readonly Lookup[],
  spelling: Omit<Spelling, 'path'>,
): Rule[] {
  const among = (some: readonly Rule[], lookups: readonly Lookup[]) =>
    coinciding(
      lookups.flatMap(one => covering(some, one)),
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

const denials = new WeakMap<readonly Rule[], readonly Rule[]>()

/** The rules that deny, their paths in ASCII lower case, one for each. */
function denialsOf(rules: readonly Rule[]): readonly Rule[] {
  const known = denials.get(rules)
  if (known) return known
  const found = united(rules.filter(isDeny), rule => lowerAscii(rule.path))
  denials.set(rules, found)
  return found
}

/** Rules whose paths mean the same, as one each. */
const coinciding = (rules: readonly Rule[], spelling: Omit<Spelling, 'path'>): Rule[] =>
  united(rules, rule => meaningOf(rule.path, spelling))

/** What a rule's path means where a path has several spellings. */
function meaningOf(path: string, { caseless, slashless }: Omit<Spelling, 'path'>): string {
  if (slashless) return path.replace(/(?<=.)\/$/, '')
  return caseless === undefined ? path : lowerSegment(path, caseless)
}

const isExact = ({ path }: Rule): boolean => !path.endsWith('*') && !path.split('/').includes('+')

/** The exact rule, or the pattern to which all others have to give way. */
const strongest = (rules: readonly Rule[]): Rule | undefined =>
  rules.find(isExact) ??
  rules.reduce<Rule | undefined>((a, b) => (a && !yields(a.path, b.path) ? a : b), undefined)

/** Whether pattern `a` has to give way to `b`. @see docs/spec/policies.md#which-rule-decides */
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

const parametersAllowed = (rule: Rule, { capability, parameters }: AccessRequest): boolean =>
  !parameters || !CHECKED.includes(capability) || parametersPass(rule, parameters)

const wrappingPasses = ({ minWrapping, maxWrapping }: Rule, ttl: number): boolean =>
  (minWrapping === 0 || ttl >= minWrapping) && (maxWrapping === 0 || (ttl > 0 && ttl <= maxWrapping))
