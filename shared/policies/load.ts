import type { Item } from '../storage/kinds.ts'
import { type Access, unite } from './access.ts'
import { builtInPolicies } from './builtin.ts'
import { ROOT } from './names.ts'
import { parsePolicy } from './parse.ts'
import type { Rule } from './policy.ts'

/** Parsed texts by text: parsing is pure, so that what was parsed once need not be parsed again. */
const parsed = new Map<string, readonly Rule[]>()
/** Characters of texts that are remembered. */
const MOST_PARSED = 4_000_000
let remembered = 0

function rulesOf(text: string): readonly Rule[] {
  const found = parsed.get(text)
  if (found) return found
  const rules = parsePolicy(text)
  remembered += text.length
  if (remembered > MOST_PARSED) {
    parsed.clear()
    remembered = text.length
  }
  parsed.set(text, rules)
  return rules
}

/** What a caller may do, from its policies' names and their stored texts. Unknown names allow nothing. */
export function compileAccess(
  names: readonly string[],
  stored: readonly (Item<'policy'> | undefined)[],
): Access {
  const written = new Map(stored.flatMap(item => (item ? [[item.sk, item.data.text]] : [])))
  const texts = names.map(name => written.get(name) ?? builtInPolicies.get(name) ?? '')
  return { root: names.includes(ROOT), rules: unite(texts.filter(text => text !== '').map(rulesOf)) }
}
