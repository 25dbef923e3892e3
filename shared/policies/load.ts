import type { Acl } from '../model/acl.ts'
import type { PolicyRule } from '../model/policy.ts'
import type { Item } from '../storage/kinds.ts'
import { unitePolicyRules } from './access.ts'
import { builtInPolicies } from './builtin.ts'
import { ROOT_POLICY_NAME } from './names.ts'
import { parsePolicy } from './parse.ts'

interface Parsed {
  /** unique number of this text */
  number: number
  rules: readonly PolicyRule[]
}

/** Builds a cache for pure functions. The whole cache is cleared if its weight exceeds the limit. */
function remembering<T>(most: number) {
  const known = new Map<string, T>()
  let weight = 0
  return (name: string, work: () => T, weigh: (made: T) => number): T => {
    const found = known.get(name)
    if (found) return found
    const made = work()
    const own = weigh(made)
    weight += own
    if (weight > most) {
      known.clear()
      weight = own
    }
    known.set(name, made)
    return made
  }
}

/** Parsed policies by text. The limit is in characters. */
const parsed = remembering<Parsed>(4_000_000)
/** Merged rules by the numbers of their policies. The limit is in rules. */
const united = remembering<readonly PolicyRule[]>(20_000)
let texts = 0

const rulesOf = (text: string): Parsed =>
  parsed(
    text,
    () => ({ number: texts++, rules: parsePolicy(text) }),
    () => text.length,
  )

const unitedOf = (policies: readonly Parsed[]): readonly PolicyRule[] =>
  united(
    policies.map(({ number }) => number).join(),
    () => unitePolicyRules(policies.map(one => one.rules)),
    rules => rules.length,
  )

/** Builds the caller's rights from its policy names and their stored texts. Unknown names permit nothing. */
export function compileAcl(names: readonly string[], stored: readonly (Item<'policy'> | undefined)[]): Acl {
  const written = new Map(stored.flatMap(item => (item ? [[item.sk, item.data.text]] : [])))
  const found = names.map(name => written.get(name) ?? builtInPolicies.get(name) ?? '')
  return {
    root: names.includes(ROOT_POLICY_NAME),
    rules: unitedOf(found.filter(text => text !== '').map(rulesOf)),
  }
}
