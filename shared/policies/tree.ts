import type { PolicyRule } from '../model/policy.ts'
import { lowerAscii } from '../values/names.ts'

/**
 * A tree of rules by path segment. A look-up visits only rules that can cover the path, so its cost depends on the path and not on the
 * number of rules.
 */
interface Node {
  below?: Spelt<Node>
  plus?: Node
  /** rule whose path ends at this node */
  end?: PolicyRule
  /** rules that end in `*`, by their text in the next segment, and the lengths of these texts */
  open?: Spelt<PolicyRule>
  lengths?: Set<number>
}

/** Values by text; an index by lower-case text is built when first needed. */
interface Spelt<T> {
  exact: Map<string, T>
  caseless?: Map<string, T[]>
}

/** A path to look up. */
export interface RuleLookup {
  path: string
  /** index of the segment that is compared without ASCII case */
  caseless?: number | undefined
  /** true if `+` also covers an empty last segment */
  emptyLast?: boolean
}

const trees = new WeakMap<readonly PolicyRule[], Node>()

/** Returns the rules that cover a path, at most one per path text. */
export function findCoveringRules(
  rules: readonly PolicyRule[],
  { path, caseless, emptyLast }: RuleLookup,
): PolicyRule[] {
  const parts = path.split('/')
  const found: PolicyRule[] = []
  let nodes: readonly Node[] = [treeOf(rules)]
  for (const [index, part] of parts.entries()) {
    const anyCase = index === caseless
    const plus = part !== '' || (emptyLast === true && index === parts.length - 1)
    for (const node of nodes) found.push(...openOn(node, part, anyCase))
    nodes = nodes.flatMap(node => [
      ...get(node.below, part, anyCase),
      ...(plus && node.plus ? [node.plus] : []),
    ])
  }
  return [...found, ...nodes.flatMap(node => (node.end ? [node.end] : []))]
}

function treeOf(rules: readonly PolicyRule[]): Node {
  const known = trees.get(rules)
  if (known) return known
  const root: Node = {}
  for (const rule of rules) insert(root, rule)
  trees.set(rules, root)
  return root
}

function insert(root: Node, rule: PolicyRule): void {
  const parts = rule.path.split('/')
  const beginning = rule.path.endsWith('*') ? parts.pop()?.slice(0, -1) : undefined
  let node = root
  for (const part of parts) node = child(node, part)
  if (beginning === undefined) node.end = rule
  else {
    node.open ??= { exact: new Map() }
    node.open.exact.set(beginning, rule)
    node.lengths ??= new Set()
    node.lengths.add(beginning.length)
  }
}

function child(node: Node, part: string): Node {
  if (part === '+') {
    node.plus ??= {}
    return node.plus
  }
  node.below ??= { exact: new Map() }
  const { exact } = node.below
  const found = exact.get(part) ?? {}
  exact.set(part, found)
  return found
}

const openOn = ({ open, lengths = new Set() }: Node, part: string, anyCase: boolean): PolicyRule[] =>
  [...lengths]
    .filter(length => length <= part.length)
    .flatMap(length => get(open, part.slice(0, length), anyCase))

function get<T>(things: Spelt<T> | undefined, text: string, anyCase: boolean): readonly T[] {
  if (!things) return []
  if (anyCase) return caselessOf(things).get(lowerAscii(text)) ?? []
  const thing = things.exact.get(text)
  return thing === undefined ? [] : [thing]
}

function caselessOf<T>(things: Spelt<T>): Map<string, T[]> {
  if (things.caseless) return things.caseless
  const caseless = new Map<string, T[]>()
  for (const [text, thing] of things.exact) {
    const lower = lowerAscii(text)
    const same = caseless.get(lower)
    if (same) same.push(thing)
    else caseless.set(lower, [thing])
  }
  things.caseless = caseless
  return caseless
}
