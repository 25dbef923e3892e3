import type { Route } from '../template/api-definitions.ts'
import type { FrontModel } from '../template/fronts.ts'

/** The function that a front calls for a verb and a path, as the front sees it; undefined: none. */
export type Find = (method: string, path: string) => string | undefined

export function finderOf(front: FrontModel): Find {
  if (front.kind !== 'alb') {
    const find = routeFinder(front.routes)
    // a REST API does not look at a slash at the end
    const seen = (path: string) => (front.kind === 'restApi' ? path.replace(/(?<=.)\/$/, '') : path)
    return (method, path) => find(method, seen(path))
  }
  const { rules, otherwise } = front
  return (_method, path) =>
    rules.find(({ expressions }) => expressions.some(one => one.test(path)))?.functionName ?? otherwise
}

/**
 * The route of a request: whole paths before greedy ones, fixed segments before variables, then `$default`.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
 */
export function routeFinder(routes: readonly Route[]): Find {
  const parsed = routes.flatMap(({ key, functionName }) => {
    const [method = '', path = ''] = key.split(' ')
    return key === '$default' ? [] : [{ method, parts: path.split('/'), functionName }]
  })
  const fallback = routes.find(route => route.key === '$default')?.functionName
  return (method, path) => {
    const given = path.split('/')
    const hits = parsed
      .filter(route => route.method === 'ANY' || route.method === method)
      .flatMap(route => {
        const rank = rankOf(route.parts, given)
        return rank === undefined ? [] : [{ rank, functionName: route.functionName }]
      })
    hits.sort((a, b) => (a.rank < b.rank ? -1 : 1))
    return hits[0]?.functionName ?? fallback
  }
}

/** How specific a match is, as text that sorts; undefined when the route does not match. */
function rankOf(parts: readonly string[], given: readonly string[]): string | undefined {
  const greedy = parts.at(-1)?.endsWith('+}') ?? false
  const fixed = greedy ? parts.slice(0, -1) : parts
  if (greedy ? given.length <= fixed.length : given.length !== fixed.length) return undefined
  const kinds = fixed.map((part, index) =>
    part === given[index] ? 'a' : part.startsWith('{') && given[index] !== '' ? 'b' : undefined,
  )
  // the longer one first, where one is the beginning of the other
  return kinds.includes(undefined) ? undefined : `${greedy ? '2' : '1'}${kinds.join('')}c`
}
