import { splitIntoBatches } from '../../../shared/values/batches.ts'

/** Maximum length of a path expression that a load balancer accepts, in characters. */
const LONGEST = 128

/** Maximum number of values in one condition of a load balancer rule. */
const MOST = { elements: 3, bytes: Number.POSITIVE_INFINITY }

const GREEDY = '/{proxy+}'

/** A listener rule of the load balancer: path expressions, and their target. */
export interface BalancerRule<T> {
  expressions: string[]
  to: T
}

const escaped = (text: string): string => text.replace(/[.+*?^${}()|[\]\\]/g, '\\$&')

/** Counts the segments of a path that have a fixed text. */
const fixedParts = (path: string): number => path.split('/').filter(part => !part.startsWith('{')).length

/**
 * Returns the rules of a listener in priority order. When two rules match a path, the rule with more fixed
 * segments wins, as in API Gateway. A path and its greedy child, such as `/a` and `/a/{proxy+}`, share one
 * path expression.
 */
export function buildBalancerRules<T>(
  routes: readonly (readonly [path: string, to: T])[],
): BalancerRule<T>[] {
  const leads = new Map(routes)
  const isShared = (path: string, to: T): boolean =>
    path.endsWith(GREEDY) && leads.get(path.slice(0, -GREEDY.length)) === to
  const tailOf = (path: string, to: T) => (leads.get(path + GREEDY) === to ? '(/.*)?' : '')
  const values = routes
    .filter(([path, to]) => !isShared(path, to))
    .map(([path, to]) => ({ expression: expressionOf(path, tailOf(path, to)), fixed: fixedParts(path), to }))
    .toSorted((a, b) => b.fixed - a.fixed)
  return Map.groupBy(values, one => one.fixed)
    .values()
    .flatMap(level => Map.groupBy(level, one => one.to))
    .flatMap(([to, own]) =>
      splitIntoBatches(own, MOST).map(some => ({ expressions: some.map(one => one.expression), to })),
    )
    .toArray()
}

/** @throws Error if the path expression is longer than a load balancer accepts */
function expressionOf(path: string, tail: string): string {
  const parts = path
    .split('/')
    .map(part => (part === '{proxy+}' ? '.+' : part.startsWith('{') ? '[^/]+' : escaped(part)))
  const expression = `^${parts.join('/')}${tail}$`
  if (expression.length > LONGEST)
    throw new Error(`a load balancer takes no expression of more than ${LONGEST} characters: ${expression}`)
  return expression
}
