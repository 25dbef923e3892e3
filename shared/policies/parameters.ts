import { isDeepStrictEqual } from 'node:util'
import type { ParameterRules, PolicyRule } from '../model/policy.ts'
import { isObject } from '../values/json.ts'

/** A parameter of a request. */
export interface RequestParameter {
  /** all names of the parameter: sent, current and old names */
  names: readonly string[]
  /** as sent */
  value: unknown
  /** Returns the stored form of a sent value. Throws if the value is unreadable. */
  read: (raw: unknown) => unknown
}

/** Reports whether a rule permits the parameters of a write. */
export function parametersPassRule(rule: PolicyRule, parameters: readonly RequestParameter[]): boolean {
  // field names are case-sensitive, so a name in capitals does not satisfy a required parameter
  if (rule.required.some(name => !parameters.some(({ names }) => names.includes(name)))) return false
  if (parameters.length > 0 && Object.hasOwn(rule.denied, '*')) return false
  return parameters.every(parameter => passes(rule, parameter))
}

function passes(rule: PolicyRule, parameter: RequestParameter): boolean {
  const { names, read } = parameter
  const [denied, allowed] = [entriesFor(rule.denied, names), entriesFor(rule.allowed, names)]
  const open = Object.keys(rule.allowed).length === 0 || Object.hasOwn(rule.allowed, '*')
  const value = stored(parameter)
  if (!value) return open && !denied && !allowed && !rule.required.some(name => names.includes(name))
  if (denied?.length === 0 || denied?.some(raw => denies(entryOf(raw, read), value))) return false
  return allowed
    ? allowed.length === 0 ||
        allows(
          allowed.map(raw => entryOf(raw, read)),
          value,
        )
    : open
}

/** Returns a rule's values for a parameter under any of its names. An empty list means every value. */
function entriesFor(rules: ParameterRules, names: readonly string[]): readonly unknown[] | undefined {
  const lists = [...new Set(names.map(name => name.toLowerCase()))].flatMap(name => {
    const entries = rules[name]
    return entries ? [entries] : []
  })
  if (lists.length === 0) return undefined
  return lists.some(entries => entries.length === 0) ? [] : lists.flat()
}

/** A value in the form in which it would be stored. */
interface Value {
  /** as sent */
  raw: unknown
  whole: unknown
  /** the items of a list, or the value itself; the empty text if there is no value */
  items: readonly unknown[]
  empty: boolean
}

function stored({ value: raw, read }: RequestParameter): Value | undefined {
  const found = attempt(read, raw)
  if (!found) return undefined
  const { whole } = found
  const items = isEmpty(whole) ? [''] : Array.isArray(whole) ? whole : [whole]
  return { raw, whole, items, empty: isEmpty(raw) || isEmpty(whole) }
}

/** A listed value of a rule: an item, or a whole value. */
interface Entry {
  empty: boolean
  item?: unknown
  whole?: unknown
  /** true if the field cannot read the item, so that texts are compared */
  unread?: true
}

function entryOf(raw: unknown, read: RequestParameter['read']): Entry {
  const found = attempt(read, raw)
  const empty = isEmpty(raw) || (found !== undefined && isEmpty(found.whole))
  if (typeof raw === 'object') return found ? { empty, whole: found.whole } : { empty }
  if (!found) return { empty, item: raw, unread: true }
  const { whole } = found
  if (!Array.isArray(whole)) return { empty, item: whole }
  // a text with one item matches that item; a text with several items matches the whole list
  return whole.length > 1 ? { empty, whole } : { empty, item: whole[0] }
}

function attempt(read: RequestParameter['read'], raw: unknown): { whole: unknown } | undefined {
  try {
    const whole = read(raw)
    return { whole: Array.isArray(whole) ? [...new Set(whole)] : whole }
  } catch {
    // an unreadable value is judged by its parameter's name alone
    return undefined
  }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const denies = (entry: Entry, value: Value): boolean =>
  (entry.empty && value.empty) ||
  isWhole(entry, value) ||
  value.items.some(item => isItem(entry, item, value))

function allows(entries: readonly Entry[], value: Value): boolean {
  if (value.empty) return entries.some(entry => entry.empty)
  return (
    entries.some(entry => isWhole(entry, value)) ||
    value.items.every(item => entries.some(entry => isItem(entry, item, value)))
  )
}

// structuredClone makes both plain data, because parsed HCL objects have no prototype
const isWhole = ({ whole }: Entry, value: Value): boolean =>
  whole !== undefined && isDeepStrictEqual(structuredClone(whole), structuredClone(value.whole))

function isItem({ item: wanted, unread }: Entry, item: unknown, { raw }: Value): boolean {
  if (wanted === undefined || isObject(item) || Array.isArray(item)) return false
  if (typeof wanted !== 'string') return String(wanted) === String(item)
  return globs(wanted, String(item)) || (unread === true && globs(wanted, String(raw)))
}

function globs(pattern: string, value: string): boolean {
  const bare = pattern.replace(/^\*|\*$/g, '')
  if (pattern === '*') return true
  if (pattern.startsWith('*') && pattern.endsWith('*')) return value.includes(bare)
  if (pattern.startsWith('*')) return value.endsWith(bare)
  return pattern.endsWith('*') ? value.startsWith(bare) : value === pattern
}

/** Merges the parameter constraints of several policies. The allowed values of several policies add up. */
export function mergeParameterRules(all: readonly ParameterRules[]): ParameterRules {
  const values = new Map<string, unknown[]>()
  const open = new Set<string>()
  for (const [name, given] of all.flatMap(rules => Object.entries(rules))) {
    const seen = values.get(name)
    if (seen) for (const value of given) seen.push(value)
    else values.set(name, [...given])
    // an empty list permits every value, even if other policies list some
    if (given.length === 0) open.add(name)
  }
  const united: Record<string, readonly unknown[]> = Object.create(null)
  for (const [name, given] of values) united[name] = open.has(name) ? [] : given
  return united
}
