import { isObject } from '../values/json.ts'
import type { Capability, ParameterRules, Rule } from './policy.ts'

/** What a caller may do, compiled from all of its policies. */
export interface Access {
  /** the `root` policy: everything */
  root: boolean
  /** one rule per path text */
  rules: readonly Rule[]
}

/** One thing a caller wants to do. */
export interface Attempt {
  /** without leading slash, as typed */
  path: string
  capability: Capability
  sudo?: boolean
  /** body parameters; absent where parameters do not count */
  parameters?: readonly Parameter[]
  /** seconds of a requested response wrapping */
  wrapTtl?: number
}

/** A parameter with all names it goes by: the one that was typed, and the current one of a deprecated name. */
export interface Parameter {
  names: readonly string[]
  value: unknown
}

/** Nothing at all. */
export const noAccess: Access = { root: false, rules: [] }

/** Unites the rules of several policies: the same path text adds up, `deny` wins. @see auth-behaviour 9.6 (2) */
export function unite(policies: readonly (readonly Rule[])[]): readonly Rule[] {
  const byPath = new Map<string, Rule>()
  for (const rule of policies.flat()) {
    const seen = byPath.get(rule.path)
    byPath.set(rule.path, seen ? both(seen, rule) : rule)
  }
  return [...byPath.values()]
}

function both(a: Rule, b: Rule): Rule {
  const capabilities = new Set([...a.capabilities, ...b.capabilities])
  return {
    path: a.path,
    capabilities: capabilities.has('deny') ? new Set(['deny']) : capabilities,
    allowed: bothParameters(a.allowed, b.allowed),
    denied: bothParameters(a.denied, b.denied),
    required: [...new Set([...a.required, ...b.required])],
    minWrapping:
      a.minWrapping && b.minWrapping
        ? Math.min(a.minWrapping, b.minWrapping)
        : a.minWrapping || b.minWrapping,
    maxWrapping:
      a.maxWrapping && b.maxWrapping
        ? Math.max(a.maxWrapping, b.maxWrapping)
        : a.maxWrapping || b.maxWrapping,
  }
}

function bothParameters(a: ParameterRules, b: ParameterRules): ParameterRules {
  const united: Record<string, readonly unknown[]> = Object.assign(Object.create(null), a)
  for (const [name, values] of Object.entries(b)) {
    const seen = united[name]
    // an empty list means every value, and stays so
    united[name] = !seen ? values : seen.length === 0 || values.length === 0 ? [] : [...seen, ...values]
  }
  return united
}

/** Whether the caller may do it. @see auth-behaviour 9.6 */
export function permits(access: Access, attempt: Attempt): boolean {
  if (access.root) return true
  const rule = governing(access.rules, attempt)
  if (!rule || rule.capabilities.has('deny') || !rule.capabilities.has(attempt.capability)) return false
  if (attempt.sudo && !rule.capabilities.has('sudo')) return false
  return parametersPass(rule, attempt) && wrappingPasses(rule, attempt.wrapTtl ?? 0)
}

/** The capabilities on a path, sorted; `["deny"]` where there are none. */
export function capabilitiesOn(access: Access, path: string): Capability[] {
  if (access.root) return ['root' as Capability]
  const rule = best(access.rules, path)
  const found = rule ? [...rule.capabilities].sort() : []
  return found.length === 0 ? ['deny'] : found
}

// A list may be written with or without its trailing slash. Neither spelling may escape a deny that
// stands on the other one (GHSA-xp3c-3jw3-4vcr).
function governing(rules: readonly Rule[], { path, capability }: Attempt): Rule | undefined {
  if (capability !== 'list') return best(rules, path)
  const bare = path.replace(/\/$/, '')
  const found = [best(rules, `${bare}/`), best(rules, bare)]
  const denied = found.find(rule => rule?.capabilities.has('deny'))
  if (denied) return denied
  return found.find(rule => rule && !isPattern(rule.path)) ?? found[0] ?? found[1]
}

const isPattern = (path: string): boolean => path.endsWith('*') || path.split('/').includes('+')

function best(rules: readonly Rule[], path: string): Rule | undefined {
  const exact = rules.find(rule => rule.path === path && !isPattern(rule.path))
  if (exact) return exact
  return rules
    .filter(rule => isPattern(rule.path) && covers(rule.path, path))
    .reduce<Rule | undefined>((a, b) => (a && !yields(a.path, b.path) ? a : b), undefined)
}

function covers(pattern: string, path: string): boolean {
  const open = pattern.endsWith('*')
  const wanted = (open ? pattern.slice(0, -1) : pattern).split('/')
  const given = path.split('/')
  if (open ? given.length < wanted.length : given.length !== wanted.length) return false
  return wanted.every((part, index) => {
    const segment = given[index] ?? ''
    if (part === '+') return segment !== ''
    return open && index === wanted.length - 1 ? segment.startsWith(part) : segment === part
  })
}

/** Whether pattern `a` has to give way to `b`. @see auth-behaviour 9.6 (4) */
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

function parametersPass(rule: Rule, { capability, parameters }: Attempt): boolean {
  if (!parameters || !CHECKED.includes(capability)) return true
  const given = parameters.map(({ names, value }) => ({
    names: names.map(name => name.toLowerCase()),
    value,
  }))
  if (rule.required.some(name => !given.some(({ names }) => names.includes(name)))) return false
  if (given.length > 0 && Object.hasOwn(rule.denied, '*')) return false
  if (given.some(({ names, value }) => names.some(name => isListed(rule.denied[name], value)))) return false
  if (Object.keys(rule.allowed).length === 0) return true
  return given.every(({ names, value }) => {
    const listed = names.filter(name => rule.allowed[name])
    return listed.length > 0
      ? listed.some(name => isListed(rule.allowed[name], value))
      : Object.hasOwn(rule.allowed, '*')
  })
}

function isListed(values: readonly unknown[] | undefined, value: unknown): boolean {
  if (!values) return false
  return values.length === 0 || values.some(pattern => sameValue(pattern, value))
}

function sameValue(pattern: unknown, value: unknown): boolean {
  if (typeof pattern === 'string' && typeof value === 'string') return globs(pattern, value)
  if (isObject(pattern) || isObject(value) || Array.isArray(pattern) || Array.isArray(value)) {
    return JSON.stringify(pattern) === JSON.stringify(value)
  }
  return String(pattern) === String(value)
}

function globs(pattern: string, value: string): boolean {
  const bare = pattern.replace(/^\*|\*$/g, '')
  if (pattern === '*') return true
  if (pattern.startsWith('*') && pattern.endsWith('*')) return value.includes(bare)
  if (pattern.startsWith('*')) return value.endsWith(bare)
  return pattern.endsWith('*') ? value.startsWith(bare) : value === pattern
}

const wrappingPasses = ({ minWrapping, maxWrapping }: Rule, ttl: number): boolean =>
  (minWrapping === 0 || ttl >= minWrapping) && (maxWrapping === 0 || (ttl > 0 && ttl <= maxWrapping))
