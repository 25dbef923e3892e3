import { isDeepStrictEqual } from 'node:util'
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
export const unite = (policies: readonly (readonly Rule[])[]): readonly Rule[] =>
  [...Map.groupBy(policies.flat(), rule => rule.path)].map(([path, rules]) => {
    const [only] = rules
    return rules.length === 1 && only ? only : merged(path, rules)
  })

function merged(path: string, rules: readonly Rule[]): Rule {
  const capabilities = new Set(rules.flatMap(rule => [...rule.capabilities]))
  return {
    path,
    capabilities: capabilities.has('deny') ? new Set(['deny']) : capabilities,
    allowed: mergedParameters(rules.map(rule => rule.allowed)),
    denied: mergedParameters(rules.map(rule => rule.denied)),
    required: [...new Set(rules.flatMap(rule => rule.required))],
    minWrapping: stated(rules.map(rule => rule.minWrapping)).reduce((a, b) => (a && a < b ? a : b), 0),
    maxWrapping: stated(rules.map(rule => rule.maxWrapping)).reduce((a, b) => Math.max(a, b), 0),
  }
}

/** Bounds that say something: 0 says nothing. */
const stated = (bounds: readonly number[]): number[] => bounds.filter(bound => bound > 0)

function mergedParameters(all: readonly ParameterRules[]): ParameterRules {
  const values = new Map<string, unknown[]>()
  const open = new Set<string>()
  for (const [name, given] of all.flatMap(rules => Object.entries(rules))) {
    const seen = values.get(name)
    if (seen) for (const value of given) seen.push(value)
    else values.set(name, [...given])
    // an empty list means every value, and stays so
    if (given.length === 0) open.add(name)
  }
  const united: Record<string, readonly unknown[]> = Object.create(null)
  for (const [name, given] of values) united[name] = open.has(name) ? [] : given
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
  // with a trailing slash it is a listing that is asked about
  const rule = governing(access.rules, { path, capability: path.endsWith('/') ? 'list' : 'read' })
  const found = rule ? [...rule.capabilities].sort() : []
  return found.length === 0 ? ['deny'] : found
}

/**
 * The one rule that decides. A listing may be written with or without its trailing slash, so that rules about
 * both spellings count, and neither may escape a deny that stands on the other one (GHSA-xp3c-3jw3-4vcr).
 * @see auth-behaviour 9.6 (3), (4)
 */
function governing(rules: readonly Rule[], { path, capability }: Attempt): Rule | undefined {
  if (capability !== 'list') return exact(rules, path) ?? best(rules, [path])
  const bare = path.replace(/\/$/, '')
  const slashed = exact(rules, `${bare}/`)
  const plain = exact(rules, bare)
  const denied = [slashed, plain].find(isDeny) ?? (slashed ? undefined : denyBelow(rules, bare))
  return denied ?? slashed ?? plain ?? best(rules, [`${bare}/`, bare])
}

const isDeny = (rule: Rule | undefined): boolean => rule?.capabilities.has('deny') ?? false

/** A deny that governs the spelling with a slash, and speaks of that one alone. */
function denyBelow(rules: readonly Rule[], bare: string): Rule | undefined {
  const rule = best(rules, [`${bare}/`])
  return rule && isDeny(rule) && !covers(rule.path, bare) ? rule : undefined
}

const isPattern = (path: string): boolean => path.endsWith('*') || path.split('/').includes('+')

const exact = (rules: readonly Rule[], path: string): Rule | undefined =>
  rules.find(rule => rule.path === path && !isPattern(rule.path))

/** The pattern to which all others that cover one of the paths have to give way. */
const best = (rules: readonly Rule[], paths: readonly string[]): Rule | undefined =>
  rules
    .filter(rule => isPattern(rule.path) && paths.some(path => covers(rule.path, path)))
    .reduce<Rule | undefined>((a, b) => (a && !yields(a.path, b.path) ? a : b), undefined)

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
  // fields are case-sensitive: a name in capitals is not the parameter that is required
  if (rule.required.some(name => !parameters.some(({ names }) => names.includes(name)))) return false
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
    // both as plain data: what HCL made has no prototype
    return isDeepStrictEqual(structuredClone(pattern), structuredClone(value))
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
