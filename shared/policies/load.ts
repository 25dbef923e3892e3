import type { Item } from '../storage/kinds.ts'
import { type Access, unite } from './access.ts'
import { builtInPolicies } from './builtin.ts'
import { ROOT } from './names.ts'
import { parsePolicy } from './parse.ts'
import type { Rule } from './policy.ts'

/** Parsed texts by text: parsing is pure, so that what was parsed once need not be parsed again. */
const parsed = new Map<string, readonly Rule[]>()
const MOST_PARSED = 500

function rulesOf(text: string): readonly Rule[] {
  const found = parsed.get(text)
  if (found) return found
  if (parsed.size >= MOST_PARSED) parsed.clear()
  const rules = parsePolicy(text)
  parsed.set(text, rules)
  return rules
}

/** What a caller may do, from its policies' names and their stored texts. Unknown names allow nothing. */
export function compileAccess(
  names: readonly string[],
  stored: readonly (Item<'policy'> | undefined)[],
): Access {
  const texts = names.map(
    name => stored.find(item => item?.sk === name)?.data.text ?? builtInPolicies.get(name) ?? '',
  )
  return { root: names.includes(ROOT), rules: unite(texts.filter(text => text !== '').map(rulesOf)) }
}
